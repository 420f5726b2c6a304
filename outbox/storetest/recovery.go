package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

var recoveryCases = []Case{
	{
		Name:     "recovery/turns_a_dead_sessions_claim_into_suspects",
		Contract: "The messages of a claim whose session expired count an attempt, no failure, and are suspect; none is lost.",
		Check: func(f *Fixture) {
			heir, _ := f.crash(2)
			c := heir.claim()
			f.want("claimed with others", payloads(c), []string(nil))
			f.want("suspects", c.Suspects, true)
			c = heir.claim(suspects)
			f.want("claimed alone", payloads(c), []string{"1"})
			m := c.Messages[0]
			got := []any{m.Attempts, m.Failures, m.Crashes, m.Suspect}
			f.want("attempts, failures, crashes, suspicion", got, []any{1, 0, 0, true})
		},
	},
	{
		Name:     "recovery/counts_a_crash_only_against_a_message_that_was_alone",
		Contract: "Only a claim of one message blames that message.",
		Check: func(f *Fixture) {
			heir, _ := f.crash(1)
			m := heir.claim(suspects).Messages[0]
			f.want("attempts and crashes", []int{m.Attempts, m.Crashes}, []int{1, 1})
		},
	},
	{
		Name:     "recovery/keeps_the_order_of_a_key_through_suspicion",
		Contract: "A suspect holds its key, and suspects of a key come back one by one in order.",
		Check: func(f *Fixture) {
			heir, _ := f.crash(3)
			f.putAll("a", "4")
			f.putAll("b", "x")
			f.want("claimed beside the suspects", payloads(heir.claim()), []string{"x"})
			var got []string
			for range 3 {
				c := heir.claim(suspects)
				got = append(got, payloads(c)...)
				heir.settle(c, delivered)
			}
			f.want("suspects", got, []string{"1", "2", "3"})
			f.want("all of them seen", heir.claim(suspects).Suspects, false)
		},
	},
	{
		Name:     "recovery/lets_other_keys_go_on",
		Contract: "Messages of other keys are claimed beside suspects.",
		Check: func(f *Fixture) {
			heir, _ := f.crash(2)
			f.putAll("b", "x")
			f.want("claimed", payloads(heir.claim()), []string{"x"})
		},
	},
	{
		Name:     "recovery/fences_the_dead",
		Contract: "A claim that was recovered cannot be settled any more: ErrClaimLost, and nothing changes.",
		Check: func(f *Fixture) {
			heir, lost := f.crash(2)
			heir.wantLost(lost)
			f.want("left", payloads(heir.claim(suspects)), []string{"1"})
		},
	},
	{
		Name:     "recovery/of_a_released_session_leaves_no_claim_behind",
		Contract: "A claim that is still there when its session is released is recovered, never forgotten.",
		Check: func(f *Fixture) {
			r, ok := f.Store.(outbox.LaneReleaser)
			if !ok {
				return
			}
			a, b := f.join(long), f.join(long)
			f.putAll("a", "1")
			a.claim()
			if err := r.ReleaseLanes(f.Context(), a.id); err != nil {
				f.Fatal(err)
			}
			b.acquire()
			f.want("claimed by the peer", payloads(b.claim(suspects)), []string{"1"})
		},
	},
	{
		Name:     "recovery/is_announced_by_the_time_that_is_left",
		Contract: "AcquireLanes tells when the soonest other session expires.",
		Check: func(f *Fixture) {
			f.join(10 * time.Second)
			lanes, err := f.Store.AcquireLanes(f.Context(), outbox.LaneRequest{Session: uuid.New(), Relay: "x", Lease: long})
			if err != nil {
				f.Fatal(err)
			}
			if lanes.Expiry <= 0 || lanes.Expiry > 10*time.Second {
				f.Errorf("got %v, want what is left of 10 s", lanes.Expiry)
			}
		},
	},
}

var wakeCases = []Case{
	{
		Name:     "wake/tells_of_a_commit_and_not_of_a_rollback",
		Contract: "A subscriber is told of the lanes of a commit, or of any lane; the channel closes with its context.",
		Check: func(f *Fixture) {
			w, ok := f.Store.(outbox.Waker)
			if !ok {
				return
			}
			ctx, cancel := context.WithTimeout(f.Context(), limit)
			defer cancel()
			news := w.Wake(ctx)
			err := f.Store.InTransaction(ctx, func(ctx context.Context) error {
				if err := f.Store.Enqueue(ctx, message("a", "0")); err != nil {
					return err
				}
				return errRollback
			})
			if !errors.Is(err, errRollback) {
				f.Fatal(err)
			}
			select {
			case <-news:
				f.Error("woken by a rollback")
			default:
			}
			f.putAll("a", "1")
			lanes, open := <-news
			if !open {
				f.Fatal("not woken by a commit")
			}
			if c := f.join(long).claim(); lanes != nil && (len(lanes) != 1 || lanes[0] != c.Messages[0].Lane) {
				f.Errorf("got lanes %v, want %d", lanes, c.Messages[0].Lane)
			}
			cancel()
			f.eventually("closing the channel of news", func() bool {
				select {
				case _, open := <-news:
					return !open
				default:
					return false
				}
			})
		},
	},
}

func suspects(r *outbox.ClaimRequest) { r.Suspect = true }

// crash claims n messages of key a, numbered from 1, under a session that then expires; it returns a session that has
// taken over, and the claim that was lost.
func (f *Fixture) crash(n int) (heir *session, lost outbox.Claim) {
	f.Helper()
	f.putAll("a", []string{"1", "2", "3"}[:n]...)
	dead := f.living(func(s *session) error { lost = s.claim(); return claimed(lost, n) })
	heir = f.join(long)
	f.eventually("taking over the lanes", func() bool { heir.acquire(); return len(heir.held) == len(dead.held) })
	return heir, lost
}
