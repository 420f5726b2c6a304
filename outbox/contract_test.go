package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// What a relay and its store may expect of one another.
func TestRelay_contract(t *testing.T) {
	t.Parallel()
	t.Run("every_claim_has_a_token_of_its_own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			stop := start(t, s, b, outbox.RelayConfig{Batch: 2})
			for _, n := range numbers(200) {
				enqueue(t, s.Store, message(n, n))
			}
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			seen := make(map[uuid.UUID]bool)
			for _, r := range s.asked {
				if r.Token == uuid.Nil || seen[r.Token] {
					t.Fatalf("token %s is empty or was used before", r.Token)
				}
				seen[r.Token] = true
			}
		})
	})
	t.Run("every_message_of_a_claim_is_settled_once_with_the_stores_own_handle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			var handed []*outbox.Claimed
			s.onClaim = func(c *outbox.Claim) {
				for _, m := range c.Messages {
					m.Handle = new(int)
					handed = append(handed, m)
				}
			}
			b.answer = refuse("bad")
			enqueue(t, s.Store, message("a", "1"), message("b", "bad"), message("a", "2"), message("", "3"))
			stop := start(t, s, b, outbox.RelayConfig{Policy: outbox.Policy{MaxAttempts: 1}})
			time.Sleep(time.Second)
			wantStopped(t, stop)
			var got []*outbox.Claimed
			for _, outcomes := range s.settled {
				for _, o := range outcomes {
					got = append(got, o.Claimed)
				}
			}
			if len(got) != len(handed) {
				t.Fatalf("settled %d messages, %d were claimed", len(got), len(handed))
			}
			for i := range got {
				if got[i] != handed[i] || got[i].Handle != handed[i].Handle {
					t.Errorf("outcome %d is not of the message that was claimed there", i)
				}
			}
		})
	})
	for name, more := range map[string]func(c *outbox.Claim){
		"a_store_that_claims_more_messages_than_asked_for_ends_the_relay": func(c *outbox.Claim) {
			c.Messages = append(c.Messages, c.Messages[0], c.Messages[0])
		},
		"a_store_that_claims_more_bytes_than_asked_for_ends_the_relay": func(c *outbox.Claim) {
			c.Messages[1].Payload = make([]byte, 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := newSpy(), new(broker)
				s.onClaim = more
				enqueue(t, s.Store, message("a", "1"), message("b", "2"))
				stop := start(t, s, b, outbox.RelayConfig{Batch: 3, BatchBytes: 50})
				time.Sleep(time.Second)
				wantFailed(t, stop)
				if got := b.got(""); got != nil {
					t.Errorf("published %v", got)
				}
			})
		})
	}
	t.Run("a_publisher_that_answers_for_another_number_of_messages_ends_the_relay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, talkative{}, outbox.RelayConfig{})
			time.Sleep(time.Second)
			wantFailed(t, stop)
			if n := s.Pending(); n != 1 {
				t.Errorf("%d messages are left, want the one", n)
			}
		})
	})
	t.Run("a_settle_without_an_answer_is_repeated_until_it_has_one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			fails := times(5, errFault)
			s.onSettle = func(_ context.Context, n int) (int, error) { return n, fails() }
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute)
			enqueue(t, s.Store, message("a", "2"))
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if d := cmp.Diff([]string{"1", "2"}, b.got("a")); d != "" {
				t.Error(d)
			}
			if n := s.count("settle"); n < 3 {
				t.Errorf("settled %d times, want the first again", n)
			}
		})
	})
	t.Run("a_message_whose_transaction_is_tried_again_is_stored_once", func(t *testing.T) {
		t.Parallel()
		s, m := newSpy(), message("a", "1")
		for _, err := range []error{errFault, nil} {
			got := s.InTransaction(t.Context(), func(ctx context.Context) error {
				if err := s.Enqueue(ctx, m); err != nil {
					t.Fatal(err)
				}
				return err
			})
			if !errors.Is(got, err) {
				t.Fatalf("got %v, want %v", got, err)
			}
		}
		if n := s.Pending(); n != 1 {
			t.Errorf("%d messages are stored, want one", n)
		}
	})
}

// refuse answers messages of one payload with a refusal.
func refuse(payload string) func(m *outbox.Message) outbox.Result {
	return func(m *outbox.Message) outbox.Result {
		if string(m.Payload) == payload {
			return outbox.Failed(errFault)
		}
		return outbox.Accepted
	}
}

func TestRelay_outcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mark               func(error) error
		attempts, failures int
	}{
		"an_unknown_outcome_is_an_attempt_and_no_failure":    {outbox.Unknown, 1, 0},
		"an_unavailable_broker_is_an_attempt_and_no_failure": {outbox.Unavailable, 1, 0},
		"a_refusal_is_an_attempt_and_a_failure":              {func(err error) error { return err }, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := newSpy(), new(broker)
				fails := times(1, errFault)
				b.answer = func(*outbox.Message) outbox.Result {
					if err := fails(); err != nil {
						return outbox.Failed(tc.mark(err))
					}
					return outbox.Accepted
				}
				var seen [][]int
				s.onClaim = func(c *outbox.Claim) {
					seen = append(seen, []int{c.Messages[0].Attempts, c.Messages[0].Failures})
				}
				enqueue(t, s.Store, message("a", "1"))
				stop := start(t, s, b, outbox.RelayConfig{})
				time.Sleep(time.Minute)
				wantStopped(t, stop)
				if d := cmp.Diff([][]int{{0, 0}, {tc.attempts, tc.failures}}, seen); d != "" {
					t.Errorf("attempts and failures of the claims: %s", d)
				}
			})
		})
	}
	t.Run("what_a_broker_took_under_a_lost_claim_is_uncertain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			s.onSettle = func(context.Context, int) (int, error) { return 0, outbox.ErrClaimLost }
			enqueue(t, s.Store, message("a", "1"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Second)
			if got := r.Snapshot(); got.ClaimsLost != 1 || got.Uncertain != 1 || got.Delivered != 0 {
				t.Errorf("got %+v, want one lost claim with one uncertain message", got)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("what_a_lost_claim_would_have_parked_neither_stops_the_relay_nor_is_logged_as_parked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			b.answer = refuse("1")
			s.onSettle = func(context.Context, int) (int, error) { return 0, outbox.ErrClaimLost }
			enqueue(t, s.Store, message("a", "1"))
			config := outbox.RelayConfig{Policy: outbox.Policy{OnExhausted: outbox.Stop, MaxAttempts: 1}}
			text := logged(t, s, b, config, func() { time.Sleep(time.Second) })
			if !strings.Contains(text, "claim was lost") || strings.Contains(text, "message was parked") {
				t.Errorf("want a lost claim in the log, and no parked message:\n%s", text)
			}
		})
	})
	t.Run("what_an_operator_took_away_is_no_lost_claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			s.onSettle = func(_ context.Context, n int) (int, error) { return n - 1, nil }
			enqueue(t, s.Store, message("a", "1"), message("b", "2"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Second)
			if got := r.Snapshot(); got.ClaimsLost != 0 || got.Uncertain != 0 {
				t.Errorf("got %+v, want nothing lost", got)
			}
			wantStopped(t, stop)
		})
	})
}
