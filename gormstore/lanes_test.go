package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// settleRounds lets relays acquire until nothing moves any more.
func settleRounds(relays ...*relay) {
	for range 6 {
		for _, r := range relays {
			r.acquire()
		}
	}
}

// spread are the lanes of each relay; it fails when one has two owners or none.
func (f *fixture) spread(lanes int, relays ...*relay) []int {
	f.Helper()
	owners := map[int]int{}
	var counts []int
	for _, r := range relays {
		n := 0
		for _, l := range r.lanes {
			if l.Draining {
				f.Errorf("lane %d is still draining", l.Lane)
			}
			owners[l.Lane]++
			n++
		}
		counts = append(counts, n)
	}
	for lane := range lanes {
		if owners[lane] != 1 {
			f.Errorf("lane %d has %d owners", lane, owners[lane])
		}
	}
	return counts
}

func TestLanes(t *testing.T) {
	t.Run("are_shared_fairly_and_come_back", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			a, b, c := f.relay(), f.relay(), f.relay()
			settleRounds(a)
			if got := f.spread(8, a); got[0] != 8 {
				t.Errorf("one relay holds %v", got)
			}
			settleRounds(a, b)
			if got := f.spread(8, a, b); got[0] != 4 || got[1] != 4 {
				t.Errorf("two relays hold %v", got)
			}
			settleRounds(a, b, c)
			for _, n := range f.spread(8, a, b, c) {
				if n < 2 || n > 3 {
					t.Errorf("one of three relays holds %d", n)
				}
			}
			if err := f.store.ReleaseLanes(t.Context(), b.id); err != nil {
				t.Fatal(err)
			}
			settleRounds(a, c)
			if got := f.spread(8, a, c); got[0] != 4 || got[1] != 4 {
				t.Errorf("after one left, two relays hold %v", got)
			}
		})
	})
	t.Run("are_drained_before_they_move", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var keys []string
			for i := range 100 {
				keys = append(keys, fmt.Sprint("k", i))
			}
			f.enqueue(keys...)
			a, b := f.started(), f.relay()
			claim := a.claim()
			b.acquire()
			a.acquire() // calls some draining
			a.acquire() // says that they are drained, but the claim names messages of them
			b.acquire()
			if len(b.lanes) != 0 {
				t.Fatalf("%d lanes moved while a claim named messages of them", len(b.lanes))
			}
			draining := 0
			for _, l := range a.lanes {
				if l.Draining {
					draining++
				}
			}
			if draining != 4 {
				t.Errorf("%d lanes are draining, want 4", draining)
			}
			a.settle(claim, all(outbox.Delivered))
			settleRounds(a, b)
			f.spread(8, a, b)
		})
	})
	t.Run("are_not_lost_with_a_session_that_expires_in_its_own_round", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			a, b := f.relay(), f.relay()
			if _, err := a.tryAcquire(0); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("got %v, want ErrSessionEnded", err)
			}
			b.acquire()
			f.spread(8, b)
		})
	})
	for name, end := range map[string]string{
		"deleted": "DELETE FROM outbox_sessions",
		"stamped": "UPDATE outbox_sessions SET stopped_at = expires_at",
	} {
		t.Run("of_a_session_that_was_"+name+"_by_hand_are_recovered", func(t *testing.T) {
			onEach(t, func(t *testing.T, f *fixture) {
				f.enqueue("a", "b")
				a, b := f.started(), f.relay()
				a.claim()
				exec(t, f.db, end)
				b.acquire()
				f.spread(8, b)
				if c := b.claim(); len(c.Messages) != 0 || !c.Suspects {
					t.Errorf("claimed %d messages, suspects %v; want suspects alone", len(c.Messages), c.Suspects)
				}
			})
		})
	}
	t.Run("keep_their_epoch_while_they_are_kept", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			a := f.started()
			before := a.lanes
			a.acquire()
			if fmt.Sprint(before) != fmt.Sprint(a.lanes) {
				t.Errorf("a quiet round changed %v to %v", before, a.lanes)
			}
		})
	})
	t.Run("of_an_expired_session_are_taken_over_with_its_claims", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a", "b", "a")
			a, b := f.relay(), f.relay()
			a.acquire()
			claim := a.claim()
			if lanes := b.acquire(); lanes.Expiry <= 0 || lanes.Expiry > testLease {
				t.Errorf("the next expiry is in %v, want at most %v", lanes.Expiry, testLease)
			}
			f.expire(a)
			if lanes := b.acquire(); len(lanes.Held) != 8 {
				t.Fatalf("took over %d lanes, want 8", len(lanes.Held))
			}
			if _, err := a.tryAcquire(testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("the expired session acquires: %v, want ErrSessionEnded", err)
			}
			if err := f.store.RenewLanes(t.Context(), a.id, testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("the expired session renews: %v, want ErrSessionEnded", err)
			}
			_, err := f.store.Settle(t.Context(), claim, outcomes(claim, all(outbox.Delivered)))
			if !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("the expired session settles: %v, want ErrClaimLost", err)
			}
			for _, m := range m {
				got := f.field(m, "attempts") + f.field(m, "crashes") + f.field(m, "state")
				if got != "104" {
					t.Errorf("attempts, crashes and state are %s, want 1, 0 and suspect", got)
				}
			}
			var order []uuid.UUID
			for b.claim().Suspects {
				c := b.claim(suspects)
				if len(c.Messages) != 1 || !c.Messages[0].Suspect {
					t.Fatalf("claimed %d suspects, want one alone", len(c.Messages))
				}
				if c.Messages[0].Key == "a" {
					order = append(order, c.Messages[0].ID)
				}
				b.settle(c, all(outbox.Delivered))
			}
			if len(order) != 2 || order[0] != m[0].ID || order[1] != m[2].ID {
				t.Errorf("suspects of the key came as %v", order)
			}
			f.want(0, 0)
		})
	})
	t.Run("are_renewed_by_a_pool_apart_when_there_is_one", func(t *testing.T) {
		address := postgresAddress(t)
		control, err := open(t, postgres.Open(address), gorm.Config{}).DB()
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 8, gormstore.Config{Control: control})
		a := f.started()
		pool, err := f.db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		busy := f.writer() // has the only connection
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := f.store.RenewLanes(ctx, a.id, time.Hour); err != nil {
			t.Fatal(err)
		}
		busy.commit()
		if lanes := f.relay().acquire(); lanes.Expiry < 30*time.Minute {
			t.Errorf("the lease ends in %v, want an hour", lanes.Expiry)
		}
	})
	t.Run("are_released_once_and_for_all", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a")
			a := f.started()
			request := a.request()
			a.claim()
			for range 2 {
				if err := f.store.ReleaseLanes(t.Context(), a.id); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := a.tryAcquire(testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Errorf("acquired after the release: %v", err)
			}
			if c, err := f.store.Claim(t.Context(), request); err != nil || len(c.Messages) > 0 {
				t.Errorf("claimed %d messages after the release, %v", len(c.Messages), err)
			}
			// Its one message was alone, so this counts as a crash.
			if got := f.field(m[0], "crashes"); got != "1" {
				t.Errorf("crashes are %s, want 1", got)
			}
			if c := f.started().claim(suspects); len(c.Messages) != 1 || c.Messages[0].Crashes != 1 {
				t.Errorf("the heir claims %d suspects", len(c.Messages))
			}
		})
	})
}
