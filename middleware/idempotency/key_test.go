package idempotency_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/postroom/postroom/middleware/idempotency"
)

func TestKey(t *testing.T) {
	t.Parallel()

	t.Run("gives_the_same_message_ids_each_time", func(t *testing.T) {
		t.Parallel()
		key := idempotency.Key{Principal: "p", Method: "POST", Route: "/orders", Value: "k"}
		same := idempotency.Fingerprint{1}
		first, second := key.MessageIDs(same), key.MessageIDs(same)
		seen := map[uuid.UUID]bool{}
		for range 3 {
			id := first()
			if again := second(); again != id || id.Version() != 5 || seen[id] {
				t.Errorf("got %s of version %d, then %s, seen before: %v", id, id.Version(), again, seen[id])
			}
			seen[id] = true
		}
	})

	t.Run("gives_another_request_under_the_same_key_other_message_ids", func(t *testing.T) {
		t.Parallel()
		key := idempotency.Key{Value: "k"}
		if key.MessageIDs(idempotency.Fingerprint{1})() == key.MessageIDs(idempotency.Fingerprint{2})() {
			t.Error("consumers would drop the messages of the second request as repeats of the first")
		}
	})

	t.Run("never_changes_its_message_ids", func(t *testing.T) {
		t.Parallel()
		key := idempotency.Key{Principal: "p", Method: "POST", Route: "/orders", Value: "k"}
		next := key.MessageIDs(idempotency.Fingerprint{1})
		got := []string{next().String(), next().String()}
		want := []string{"56568c15-3725-589c-b891-622e961397cb", "5ea8d9f7-8ee5-5107-8c8a-6e855328f715"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ids that consumers have seen (-want +got):\n%s", diff)
		}
	})

	t.Run("has_a_sum_of_its_own", func(t *testing.T) {
		t.Parallel()
		text := rapid.StringMatching(`[ab\x00]{0,3}`)
		key := rapid.Custom(func(t *rapid.T) idempotency.Key {
			return idempotency.Key{
				Principal: text.Draw(t, "principal"), Method: text.Draw(t, "method"),
				Route: text.Draw(t, "route"), Value: text.Draw(t, "value"),
			}
		})
		same := idempotency.Fingerprint{1}
		rapid.Check(t, func(t *rapid.T) {
			a, b := key.Draw(t, "a"), key.Draw(t, "b")
			if (a == b) != (a.Sum() == b.Sum()) || (a == b) != (a.MessageIDs(same)() == b.MessageIDs(same)()) {
				t.Fatalf("%q and %q are mixed up", a, b)
			}
		})
	})
}

func TestAnswer(t *testing.T) {
	t.Parallel()

	t.Run("comes_back_from_a_store_as_it_was", func(t *testing.T) {
		t.Parallel()
		for _, want := range []idempotency.Answer{
			{Status: 204},
			{Status: 200, Omitted: true},
			{Status: 201, Header: map[string][]string{"A": {"1", "", "\xe9\n"}, "B": {"2"}}, Body: []byte("\n{}\n\x00")},
		} {
			data, err := want.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var got idempotency.Answer
			if err := got.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		}
	})

	t.Run("is_refused_when_it_is_none", func(t *testing.T) {
		t.Parallel()
		for _, data := range []string{"", "{}", "{}\n", `{"v":2}` + "\n", `{"v":1}`, "x\n"} {
			var got idempotency.Answer
			if err := got.UnmarshalBinary([]byte(data)); err == nil {
				t.Errorf("%q: got %+v, want an error", data, got)
			}
		}
	})
}
