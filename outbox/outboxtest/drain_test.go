package outboxtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
)

var errRefused = errors.New("refused")

func drain(t *testing.T, s store, p outbox.Publisher) {
	t.Helper()
	if err := outboxtest.Drain(t.Context(), s, p); err != nil {
		t.Fatal(err)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()

	t.Run("relays_all_that_is_due_in_the_order_of_its_keys", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			var sent outboxtest.Recorder
			drain(t, s, &sent)
			put(t, s, placed("a", 1), placed("b", 1), placed("a", 2), placed("", 1))
			drain(t, s, &sent)
			outboxtest.RequirePublished(t, &sent, placed("a", 1), placed("a", 2), placed("b", 1), placed("", 1))
			outboxtest.RequireEnqueued(t, s)
		})
	})

	t.Run("relays_what_a_consumer_enqueues_meanwhile", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			var got []string
			consumer := outbox.PublisherFunc(func(ctx context.Context, m *outbox.Message) error {
				got = append(got, string(m.Payload))
				if len(got) > 2 {
					return nil
				}
				return s.InTransaction(ctx, func(ctx context.Context) error {
					return s.Enqueue(ctx, placed(m.Key, len(got)+1))
				})
			})
			put(t, s, placed("a", 1))
			drain(t, s, consumer)
			if diff := cmp.Diff([]string{`{"n":1}`, `{"n":2}`, `{"n":3}`}, got); diff != "" {
				t.Errorf("consumed (-want +got):\n%s", diff)
			}
		})
	})

	t.Run("hands_over_once_and_keeps_what_was_refused_with_its_key", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			tries := 0
			sent := outboxtest.Recorder{Refuse: func(m *outbox.Message) error {
				if m.Key == "a" || m.Key == "" {
					tries++
					return errRefused
				}
				return nil
			}}
			put(t, s, placed("a", 1), placed("a", 2), placed("b", 1), placed("", 1), placed("", 2))
			for n := 1; n <= 2; n++ { // the next one tries again, at once
				if err := outboxtest.Drain(t.Context(), s, &sent); !errors.Is(err, errRefused) {
					t.Fatalf("got %v, want the refusal", err)
				}
				if tries != 3*n {
					t.Errorf("tried %d times, want %d", tries, 3*n)
				}
				outboxtest.RequirePublished(t, &sent, placed("b", 1))
				outboxtest.RequireEnqueued(t, s, placed("a", 1), placed("a", 2), placed("", 1), placed("", 2))
			}
			sent.Refuse = nil
			sent.Reset()
			drain(t, s, &sent)
			outboxtest.RequirePublished(t, &sent, placed("a", 1), placed("a", 2), placed("", 1), placed("", 2))
		})
	})

	t.Run("parks_what_is_refused_for_good_and_counts_nothing_else", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			mark func(error) error
			due  int
		}{
			"refused":     {func(err error) error { return err }, 2},
			"unroutable":  {outbox.Unroutable, 2},
			"unavailable": {outbox.Unavailable, 2},
			"unknown":     {outbox.Unknown, 2},
			"retry after": {func(err error) error { return outbox.RetryAfter(time.Hour, err) }, 2},
			"permanent":   {outbox.Permanent, 0},
		} {
			s := memstore.New(memstore.Config{})
			put(t, s, placed("a", 1), placed("a", 2))
			sent := outboxtest.Recorder{Refuse: func(*outbox.Message) error { return c.mark(errRefused) }}
			if err := outboxtest.Drain(t.Context(), s, &sent); !errors.Is(err, errRefused) {
				t.Errorf("%s: got %v", name, err)
			}
			claimed := peek(t, s)
			if len(claimed) != c.due {
				t.Errorf("%s: %d messages are due, want %d", name, len(claimed), c.due)
			}
			for _, m := range claimed {
				if m.Attempts != 0 || m.Failures != 0 {
					t.Errorf("%s: %d attempts and %d failures", name, m.Attempts, m.Failures)
				}
			}
		}
	})

	t.Run("relays_messages_of_a_claim_that_was_recovered", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1), placed("a", 2))
		peek(t, s) // and its session ends without a settle
		var sent outboxtest.Recorder
		drain(t, s, &sent)
		outboxtest.RequirePublished(t, &sent, placed("a", 1), placed("a", 2))
	})

	t.Run("keeps_what_was_not_handed_over", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			put(t, s, placed("a", 1))
			if err := outboxtest.Drain(t.Context(), s, silent{}); err == nil {
				t.Error("got no error for a message without a result")
			}
			outboxtest.RequireEnqueued(t, s, placed("a", 1))
		})
	})

	t.Run("ends_with_its_context_and_keeps_what_was_taken", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1), placed("a", 2))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sent := outboxtest.Recorder{Refuse: func(*outbox.Message) error { cancel(); return nil }}
		if err := outboxtest.Drain(ctx, s, &sent); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		outboxtest.RequirePublished(t, &sent, placed("a", 1))
		outboxtest.RequireEnqueued(t, s, placed("a", 2))
	})

	t.Run("leaves_the_store_usable_when_the_publisher_ends_the_test", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1))
		got := failureOf(t, func(inner testing.TB) {
			_ = outboxtest.Drain(t.Context(), s, ending{inner})
		})
		if got != "unexpected" {
			t.Errorf("failed with %q", got)
		}
		outboxtest.RequireEnqueued(t, s, placed("a", 1))
	})

	t.Run("refuses_a_publisher_that_breaks_its_contract", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1))
		if err := outboxtest.Drain(t.Context(), s, wordless{}); err == nil {
			t.Error("got no error for no results")
		}
		outboxtest.RequireEnqueued(t, s, placed("a", 1))
	})
}

// silent hands nothing over.
type silent struct{}

func (silent) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	return make([]outbox.Result, len(messages))
}

// ending fails its test.
type ending struct{ testing.TB }

func (e ending) Publish(context.Context, []*outbox.Message) []outbox.Result {
	e.Fatal("unexpected")
	return nil
}

// wordless returns no results.
type wordless struct{}

func (wordless) Publish(context.Context, []*outbox.Message) []outbox.Result { return nil }

// peek claims what is due and lets its session end.
func peek(t *testing.T, s *memstore.Store) []*outbox.Claimed {
	t.Helper()
	id := uuid.New()
	lanes, err := s.AcquireLanes(t.Context(), outbox.LaneRequest{Session: id, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(t.Context(), outbox.ClaimRequest{
		Token: uuid.New(), Session: id, Lanes: lanes.Held, Limit: 10, Bytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReleaseLanes(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return claim.Messages
}
