package outbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

// via is a message without a key.
func via(transport, payload string) *outbox.Message {
	m := message("", payload)
	m.Transport = transport
	return m
}

func TestMux(t *testing.T) {
	t.Parallel()
	t.Run("routes_by_transport_and_keeps_the_order_of_results", func(t *testing.T) {
		t.Parallel()
		refused := errors.New("refused")
		k, r := new(broker), &broker{answer: func(*outbox.Message) outbox.Result { return outbox.Failed(refused) }}
		results := outbox.Mux{"": k, "rabbit": r, "nobody": nil}.Publish(t.Context(), []*outbox.Message{
			via("", "1"), via("rabbit", "2"), via("", "3"), via("pigeon", "4"), via("nobody", "5"),
		})
		if d := cmp.Diff([]string{"1", "3"}, k.got("")); d != "" {
			t.Error(d)
		}
		if !results[0].Accepted() || !results[2].Accepted() || !errors.Is(results[1].Err(), refused) {
			t.Errorf("got %v", results)
		}
		for _, r := range results[3:] {
			if err := r.Err(); !errors.Is(err, outbox.ErrUnknownTransport) || outbox.ClassOf(err) != outbox.ClassUnavailable {
				t.Errorf("unknown transport: got %v, want it to wait", err)
			}
		}
	})
	t.Run("keeps_a_key_in_order_only_if_every_member_does", func(t *testing.T) {
		t.Parallel()
		yes, no := &broker{ordered: true}, &broker{}
		if !outbox.KeyOrdered(outbox.Mux{"": yes}) || outbox.KeyOrdered(outbox.Mux{"": yes, "rabbit": no}) {
			t.Error("a mux promises what one of its members does not keep")
		}
	})
}
