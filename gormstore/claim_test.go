package gormstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestClaim(t *testing.T) {
	t.Run("returns_what_was_committed_and_settles_it_away", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := &outbox.Message{
				Topic: "orders", Key: "käse", Type: "order.placed", Version: 7,
				Payload: []byte{0, 255, 1}, ContentType: "text/plain",
				Headers:   []outbox.Header{{Name: "a", Value: "1"}, {Name: "a", Value: ""}, {Name: "z", Value: "ü"}},
				Transport: "rabbit", Tenant: "t-1", AvailableAt: time.Now().Add(-time.Hour).Truncate(time.Microsecond).UTC(),
			}
			f.store1(m)
			r := f.started()
			claim := r.claim()
			if len(claim.Messages) != 1 {
				t.Fatalf("claimed %d messages, want 1", len(claim.Messages))
			}
			got := *claim.Messages[0].Message
			if age := time.Since(got.CreatedAt); age < -time.Minute || age > time.Minute {
				t.Errorf("CreatedAt is %v, want now", got.CreatedAt)
			}
			if got.CreatedAt.Location() != time.UTC || got.AvailableAt.Location() != time.UTC {
				t.Errorf("times are %v and %v, want UTC", got.CreatedAt, got.AvailableAt)
			}
			got.CreatedAt = time.Time{}
			if diff := cmp.Diff(*m, got); diff != "" {
				t.Errorf("claimed message (-want +got):\n%s", diff)
			}
			if n := r.settle(claim, all(outbox.Delivered)); n != 1 {
				t.Errorf("settled %d, want 1", n)
			}
			if n := f.count("outbox_messages") + f.count("outbox_claims"); n != 0 {
				t.Errorf("%d rows are left, want none", n)
			}
		})
	})
	t.Run("keeps_a_nil_payload_apart_from_an_empty_one", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			a, b := message("k"), message("k")
			a.Payload, b.Payload = nil, []byte{}
			f.store1(a, b)
			got := f.started().claim().Messages
			if got[0].Payload != nil || got[1].Payload == nil {
				t.Errorf("payloads are %#v and %#v, want nil and empty", got[0].Payload, got[1].Payload)
			}
		})
	})
	t.Run("keeps_the_order_of_a_key", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var want []uuid.UUID
			for range 30 {
				want = append(want, ids(f.enqueue("k", "k")...)...)
			}
			if diff := cmp.Diff(want, idsOf(f.started().claim())); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("claims_each_message_once_and_all_of_them", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			seen := map[uuid.UUID]bool{}
			total := 3000
			if raceDetector {
				total = 300
			}
			for range 3 {
				keys := make([]string, total/3)
				for i := range keys {
					keys[i] = fmt.Sprint("k", i%50)
				}
				f.enqueue(keys...)
			}
			r := f.started()
			for {
				c := r.claim(limit(70))
				if len(c.Messages) == 0 {
					break
				}
				for _, m := range c.Messages {
					if seen[m.ID] {
						t.Fatal("claimed a message twice")
					}
					seen[m.ID] = true
				}
				r.settle(c, all(outbox.Delivered))
			}
			if len(seen) != total {
				t.Errorf("claimed %d messages, want %d", len(seen), total)
			}
		})
	})
	t.Run("leaves_the_lanes_of_others_alone", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c", "d", "e", "f", "g", "h")
			r := f.started()
			other := f.relay()
			other.acquire() // holds nothing yet
			if c := other.claim(func(q *outbox.ClaimRequest) { q.Lanes = r.lanes }); len(c.Messages) > 0 {
				t.Errorf("claimed %d messages of another session's lanes", len(c.Messages))
			}
			if c := r.claim(func(q *outbox.ClaimRequest) {
				for i := range q.Lanes {
					q.Lanes[i].Epoch--
				}
			}); len(c.Messages) > 0 {
				t.Errorf("claimed %d messages under an old epoch", len(c.Messages))
			}
		})
	})
	t.Run("stops_at_its_bounds_and_never_skips", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			big, small := message("k"), message("k")
			big.Payload, small.Payload = []byte(strings.Repeat("x", 5000)), []byte("y")
			f.store1(big, small, message("k"))
			r := f.started()
			c := r.claim(func(q *outbox.ClaimRequest) { q.Bytes = 1000 })
			if diff := cmp.Diff(ids(big), idsOf(c)); diff != "" {
				t.Errorf("the first message is exempt and the only one (-want +got):\n%s", diff)
			}
			r.settle(c, all(outbox.Delivered))
			if c := r.claim(limit(1)); len(c.Messages) != 1 || c.Messages[0].ID != small.ID {
				t.Errorf("claimed %v, want the second message alone", idsOf(c))
			}
		})
	})
	t.Run("brings_payloads_of_any_size", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) { f.bringsPayloads() })
	})
	t.Run("takes_no_more_of_a_key_than_asked_and_comes_back_for_the_rest", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var want []uuid.UUID
			for i := 0; len(want) < 20; i++ {
				if other := fmt.Sprint("other", i); outbox.LaneOf(message(other), 8) == outbox.LaneOf(message("hot"), 8) {
					want = append(want, f.enqueue("hot", other)[0].ID) // whose numbers pass those left behind
				}
			}
			r := f.started()
			var got []uuid.UUID
			for len(got) < len(want) {
				c := r.claim(func(q *outbox.ClaimRequest) { q.PerKey = 3 })
				before := len(got)
				for _, m := range c.Messages {
					if m.Key == "hot" {
						got = append(got, m.ID)
					}
				}
				if n := len(got) - before; n < 1 || n > 3 {
					t.Fatalf("claimed %d of the hot key, want one to three", n)
				}
				r.settle(c, all(outbox.Delivered))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("order of the hot key (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("leaves_a_scheduled_message_until_it_is_due_and_holds_nothing_for_it", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			later := message("k")
			later.AvailableAt = time.Now().Add(time.Hour)
			now := message("k")
			f.store1(later, now)
			r := f.started()
			c := r.claim()
			if diff := cmp.Diff(ids(now), idsOf(c)); diff != "" {
				t.Errorf("claimed (-want +got):\n%s", diff)
			}
			r.settle(c, all(outbox.Delivered))
			f.due(later)
			if diff := cmp.Diff(ids(later), idsOf(r.claim())); diff != "" {
				t.Errorf("claimed when due (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("finds_what_another_process_unblocked_by_its_nudge", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("k", "k")
			r := f.started()
			r.settle(r.claim(limit(1)), all(outbox.ParkKey))
			if c := r.claim(); len(c.Messages) > 0 {
				t.Fatalf("claimed %d messages behind a parked one", len(c.Messages))
			}
			for i := range 100 { // some of them in the same lane, whose cursor they lead past what is held
				f.enqueue(fmt.Sprint("other", i))
			}
			r.settle(r.claim(), all(outbox.Delivered))
			r.settleDown()
			exec(t, f.db, "DELETE FROM outbox_messages WHERE id = ?", f.key(m[0].ID))
			exec(t, f.db, "DELETE FROM outbox_blocks")
			exec(t, f.db, "UPDATE outbox_lanes SET nudge = nudge + 1")
			if diff := cmp.Diff(ids(m[1]), idsOf(r.claim())); diff != "" {
				t.Errorf("claimed after the nudge (-want +got):\n%s", diff)
			}
		})
	})
}

// bringsPayloads claims payloads below and above what PostgreSQL reads with the rest of a row, a thousand bytes here,
// up to the bound of the batch and beyond.
func (f *fixture) bringsPayloads() {
	f.Helper()
	want := map[uuid.UUID][]byte{}
	for i, size := range []int{-1, 0, 999, 1000, 1001, 1, 4000, 2_000, 100_000} { // the last one exceeds the bound
		m := message(fmt.Sprint(i))
		m.Payload = nil
		if size >= 0 {
			m.Payload = bytes.Repeat([]byte{byte('a' + i)}, size)
		}
		f.store1(m)
		want[m.ID] = m.Payload
	}
	r := f.started()
	got := map[uuid.UUID][]byte{}
	for range 3 {
		c := r.claim(func(q *outbox.ClaimRequest) { q.Limit, q.Bytes = 20, 20_000 })
		for _, m := range c.Messages {
			got[m.ID] = m.Payload
		}
		r.settle(c, all(outbox.Delivered))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("payloads (-want +got):\n%s", diff)
	}
}

// settleDown claims until no bound for late commits holds the cursors back: a claim moves it for the next one, and
// for writers of any table that run then.
func (r *relay) settleDown() {
	r.Helper()
	for range 4 {
		if c := r.claim(); len(c.Messages) > 0 {
			r.Fatalf("claimed %d messages, want none", len(c.Messages))
		}
	}
}

// due makes a waiting message due.
func (f *fixture) due(m *outbox.Message) {
	f.Helper()
	past := "1"
	if f.db.Name() == "postgres" {
		past = "now() - interval '1 second'"
	}
	exec(f, f.db, "UPDATE outbox_messages SET available_at = "+past+" WHERE id = ?", f.key(m.ID))
}

func TestVoid(t *testing.T) {
	t.Run("undoes_a_claim_that_was_made", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			want := ids(f.enqueue("a", "a", "b")...)
			r := f.started()
			request := r.request()
			claim, err := f.store.Claim(t.Context(), request)
			if err != nil || len(claim.Messages) != 3 {
				t.Fatalf("claimed %d messages, %v", len(claim.Messages), err)
			}
			if err := f.store.Void(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if n := f.count("outbox_claims"); n != 0 {
				t.Errorf("%d claims are left, want none", n)
			}
			if c := r.claim(); len(c.Messages) != 0 {
				t.Errorf("claimed %d messages under the old epochs, want none", len(c.Messages))
			}
			_, err = f.store.Settle(t.Context(), claim, outcomes(claim, all(outbox.Delivered)))
			if !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("settling the voided claim: %v, want ErrClaimLost", err)
			}
			r.acquire()
			again := r.claim()
			if len(again.Messages) != len(want) || again.Messages[0].Attempts != 0 {
				t.Errorf("claimed %d messages, the first with %d attempts; want %d and none",
					len(again.Messages), again.Messages[0].Attempts, len(want))
			}
		})
	})
	t.Run("keeps_a_claim_from_being_made_later", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a")
			r := f.started()
			request := r.request()
			if err := f.store.Void(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			claim, err := f.store.Claim(t.Context(), request)
			if err != nil || len(claim.Messages) != 0 {
				t.Errorf("claimed %d messages, %v; want none", len(claim.Messages), err)
			}
		})
	})
}

func TestDrain(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		const keys = 1000
		total := 50_000
		if raceDetector && f.db.Name() == "sqlite" {
			total = 1000
		}
		for range total / 1000 {
			list := make([]*outbox.Message, 1000)
			for i := range list {
				list[i] = message(fmt.Sprint("k", i%keys))
			}
			f.store1(list...)
		}
		r := f.started()
		last, n, start := map[string]uuid.UUID{}, 0, time.Now()
		for {
			c := r.claim()
			if len(c.Messages) == 0 {
				break
			}
			for _, m := range c.Messages {
				if before := last[m.Key]; strings.Compare(before.String(), m.ID.String()) >= 0 {
					t.Fatalf("%s came after %s", m.ID, before)
				}
				last[m.Key] = m.ID
			}
			n += r.settle(c, all(outbox.Delivered))
		}
		if n != total || f.count("outbox_messages") != 0 {
			t.Errorf("delivered %d messages, %d are left; want %d and none", n, f.count("outbox_messages"), total)
		}
		t.Logf("%.0f messages a second", float64(total)/time.Since(start).Seconds())
	})
}
