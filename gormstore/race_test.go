package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
)

// The races that databases with many writers allow, each brought about on purpose.

func TestRace(t *testing.T) {
	t.Run("a_slow_claim_is_recovered_by_the_takeover_that_waits_for_it", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c")
			a, b := f.relay(), f.relay()
			a.acquire()
			open := f.gate()
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), a.request()) })
			f.waiting(1, f.gated())
			f.expire(a)
			taken := background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) })
			f.waiting(1, "FOR UPDATE")
			open()
			claim := await(f, claimed)
			if claim.err != nil || len(claim.value.Messages) != 3 {
				t.Fatalf("the slow claim got %d messages, %v", len(claim.value.Messages), claim.err)
			}
			if lanes := await(f, taken); lanes.err != nil || len(lanes.value.Held) != 8 {
				t.Fatalf("the takeover got %d lanes, %v", len(lanes.value.Held), lanes.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims that nobody will ever recover", n)
			}
			_, err := f.store.Settle(t.Context(), claim.value, outcomes(claim.value, all(outbox.Delivered)))
			if !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("the late settle: %v, want ErrClaimLost", err)
			}
			c := b.claim()
			if len(c.Messages) != 0 || !c.Suspects {
				t.Errorf("claimed %d messages, suspects %v; want the three as suspects", len(c.Messages), c.Suspects)
			}
			f.want(0, 3)
		})
	})
	t.Run("a_claim_that_waited_while_its_lanes_went_and_came_back_gets_nothing", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c")
			a := f.started()
			tx := f.writer().tx
			exec(t, tx, "SELECT lane FROM outbox_lanes ORDER BY lane FOR UPDATE")
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), a.request()) })
			f.waiting(1, f.either("WITH mine", "LOCK IN SHARE MODE"))
			exec(t, tx, "UPDATE outbox_lanes SET epoch = epoch + 2") // to another and back, who delivered everything
			exec(t, tx, "DELETE FROM outbox_messages")
			if err := tx.Commit().Error; err != nil {
				t.Fatal(err)
			}
			if c := await(f, claimed); c.err != nil || len(c.value.Messages) != 0 {
				t.Errorf("claimed %d delivered messages, %v", len(c.value.Messages), c.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims, want none", n)
			}
		})
	})
	t.Run("a_claim_that_finds_nothing_writes_nothing", func(t *testing.T) {
		t.Parallel()
		f := onPostgres(t)
		r := f.started()
		before := f.marks()
		if c := r.claim(); len(c.Messages) != 0 {
			t.Fatalf("claimed %d messages of none", len(c.Messages))
		}
		if after := f.marks(); after != before {
			t.Errorf("lanes bear the marks of %s, want those of before, %s", after, before)
		}
	})
	t.Run("a_settle_that_waited_behind_a_takeover_changes_nothing", func(t *testing.T) {
		for name, decide := range map[string]func(*outbox.Claimed) outbox.Outcome{
			"delivered": all(outbox.Delivered),
			"mixed": func(m *outbox.Claimed) outbox.Outcome {
				if m.Key == "a" {
					return outbox.Outcome{Verdict: outbox.Retry, RetryIn: time.Hour}
				}
				return outbox.Outcome{Verdict: outbox.Delivered}
			},
		} {
			t.Run(name, func(t *testing.T) {
				onServers(t, func(t *testing.T, f *fixture) {
					m := f.enqueue("a", "b")
					a := f.started()
					c := a.claim()
					tx := f.writer().tx
					exec(t, tx, "DELETE FROM outbox_claims")
					exec(t, tx, "UPDATE outbox_messages SET state = 4, attempts = 7, available_at = "+f.now())
					settled := background(func() (int, error) { return f.store.Settle(t.Context(), c, outcomes(c, decide)) })
					f.waiting(1, f.either("DELETE FROM", "DELETE c"))
					if err := tx.Commit().Error; err != nil {
						t.Fatal(err)
					}
					if s := await(f, settled); !errors.Is(s.err, outbox.ErrClaimLost) {
						t.Errorf("settled %d, %v; want ErrClaimLost", s.value, s.err)
					}
					if got := f.field(m[0], "attempts"); got != "7" {
						t.Errorf("attempts are %s, want those of the recovery", got)
					}
					f.want(0, 2)
				})
			})
		}
	})
	t.Run("voiding_waits_for_a_claim_whose_answer_was_lost", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a", "b", "c")
			a := f.started()
			open := f.gate()
			request := a.request()
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), request) })
			f.waiting(1, f.gated())
			voided := background(func() (int, error) { return 0, f.store.Void(t.Context(), request) }) // given up waiting
			f.waiting(1, "FOR UPDATE")
			open()
			if v := await(f, voided); v.err != nil {
				t.Fatal(v.err)
			}
			if c := await(f, claimed); c.err != nil || len(c.value.Messages) != len(m) {
				t.Errorf("the answer that comes too late has %d messages, %v", len(c.value.Messages), c.err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims are left, want none", n)
			}
			a.acquire()
			if got := len(a.deliver()); got != len(m) {
				t.Errorf("delivered %d messages, want %d", got, len(m))
			}
		})
	})
	t.Run("a_hundred_buriers_have_one_winner", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			pool, err := f.db.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(20)
			m := f.enqueue("a")
			a := f.relay()
			a.acquire()
			a.claim()
			f.expire(a)
			var results []<-chan result[outbox.Lanes]
			for range 100 {
				b := f.relay()
				results = append(results, background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) }))
			}
			owners := map[int]int{}
			for _, c := range results {
				r := await(f, c)
				if r.err != nil {
					t.Fatal(r.err)
				}
				for _, l := range r.value.Held {
					owners[l.Lane]++
				}
			}
			for lane, n := range owners {
				if n != 1 {
					t.Errorf("lane %d has %d owners", lane, n)
				}
			}
			if got := f.field(m[0], "attempts"); got != "1" {
				t.Errorf("%s attempts were counted, want 1", got)
			}
		})
	})
	t.Run("a_round_that_recovers_another_session_waits_for_no_lane_of_its_own", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			a, b := f.relay(), f.started()
			settleRounds(a, b)
			for range 14 {
				f.relay().acquire() // so that b has to give lanes back even without a
			}
			b.acquire()
			a.acquire()
			f.expire(a)
			act := f.writer().tx
			var draining int
			for _, l := range b.lanes {
				if l.Draining {
					exec(t, act, "SELECT lane FROM outbox_lanes WHERE lane = ? FOR UPDATE", l.Lane)
					draining++
				}
			}
			lanes := await(f, background(func() (outbox.Lanes, error) { return b.tryAcquire(testLease) }))
			if lanes.err != nil || draining == 0 {
				t.Fatalf("acquired with %d lanes to give back: %v", draining, lanes.err)
			}
			if err := f.store.RenewLanes(t.Context(), a.id, testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("the expired session renews: %v, want ErrSessionEnded", err)
			}
			f.do(act.Rollback().Error)
			held := len(b.lanes)
			if b.acquire(); len(b.lanes) != held-draining {
				t.Errorf("holds %d lanes after the next round, want %d", len(b.lanes), held-draining)
			}
		})
	})
}

// expire ends the lease of a session, as the passing of its time does.
func (f *fixture) expire(r *relay) {
	f.Helper()
	exec(f, f.db, "UPDATE outbox_sessions SET expires_at = "+f.past(time.Second)+" WHERE id = ?", f.key(r.id))
}
