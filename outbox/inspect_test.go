package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// What an operator does reaches a relay that runs.
func TestRelay_operator(t *testing.T) {
	t.Parallel()
	t.Run("a_requeued_message_is_delivered_before_what_it_held", func(t *testing.T) {
		checkParked(t, (*memstore.Store).Requeue, []string{"1", "bad", "3", "4"})
	})
	t.Run("a_discarded_message_lets_its_key_go_on", func(t *testing.T) {
		checkParked(t, (*memstore.Store).Discard, []string{"1", "3", "4"})
	})
	t.Run("a_skipped_message_lets_its_key_go_on", func(t *testing.T) {
		checkParked(t, (*memstore.Store).Skip, []string{"1", "3", "4"})
	})
}

type act = func(*memstore.Store, context.Context, outbox.Act, ...uuid.UUID) (int, error)

// checkParked lets a relay park the second message of a key, mends the broker, acts, and looks at what it accepts
// without any time passing.
func checkParked(t *testing.T, do act, want []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, b, broken := memstore.New(memstore.Config{}), new(broker), true
		b.answer = func(m *outbox.Message) outbox.Result {
			if broken && string(m.Payload) == "bad" {
				return outbox.Failed(outbox.Permanent(errors.New("malformed")))
			}
			return outbox.Accepted
		}
		stop := start(t, s, b, outbox.RelayConfig{})
		enqueue(t, s, message("a", "1"), message("a", "bad"), message("a", "3"))
		time.Sleep(time.Minute)
		enqueue(t, s, message("a", "4"))
		time.Sleep(time.Minute + 1500*time.Millisecond) // between two rounds and two polls
		if d := cmp.Diff([]string{"1"}, b.got("a")); d != "" {
			t.Errorf("while the second is parked: %s", d)
		}
		broken = false
		parked, err := s.Find(t.Context(), outbox.Filter{Status: outbox.StatusParked}, 0, 10)
		if err != nil || len(parked) != 1 {
			t.Fatalf("find: %d messages, %v; want one that is parked", len(parked), err)
		}
		if n, err := do(s, t.Context(), outbox.Act{By: "me", Reason: "mended"}, parked[0].ID); n != 1 || err != nil {
			t.Fatalf("changed %d, %v; want 1", n, err)
		}
		synctest.Wait()
		if d := cmp.Diff(want, b.got("a")); d != "" {
			t.Errorf("after the act: %s", d)
		}
		wantStopped(t, stop)
	})
}

// Of what is parked and skipped, an act on all reaches each message before the later ones.
func TestActOnAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := memstore.New(memstore.Config{}), new(broker)
		b.answer = func(*outbox.Message) outbox.Result { return outbox.Failed(outbox.Permanent(errFault)) }
		policy := outbox.Policy{OnExhausted: outbox.Skip}
		stop := start(t, s, b, outbox.RelayConfig{Topics: map[string]outbox.Policy{"skips": policy}})
		var want []uuid.UUID
		for i := range 450 {
			m := message(fmt.Sprint(i), "bad")
			if i%3 == 0 {
				m.Topic = "skips"
			}
			enqueue(t, s, m)
			want = append(want, m.ID)
		}
		time.Sleep(time.Minute)
		wantStopped(t, stop)

		var got []uuid.UUID
		noted := func(i outbox.Inspector, ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
			if len(ids) > 100 {
				t.Errorf("%d messages at once", len(ids))
			}
			got = append(got, ids...)
			return i.Requeue(ctx, act, ids...)
		}
		n, err := outbox.ActOnAll(t.Context(), s, noted, outbox.Act{By: "me", Reason: "mended"}, outbox.Filter{})
		if n != len(want) || err != nil {
			t.Errorf("changed %d, %v; want %d", n, err, len(want))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("order (-want +got):\n%s", d)
		}
	})
}
