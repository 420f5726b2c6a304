package storetest

import (
	"errors"

	"github.com/postroom/postroom/outbox"
)

var laneCases = []Case{
	{
		Name:     "lanes/go_to_the_only_session",
		Contract: "A session that is alone gets every lane, ascending, at once.",
		Check: func(f *Fixture) {
			a := f.join(long)
			if len(a.held) < 2 {
				f.Fatalf("got %d lanes, want several", len(a.held))
			}
			for i, l := range a.held {
				f.want("lane", l.Lane, i)
			}
			var everywhere []*outbox.Message
			for range 1000 {
				everywhere = append(everywhere, message("", ""))
			}
			f.put(everywhere...)
			f.want("messages of all lanes", len(a.drain()), len(everywhere))
		},
	},
	{
		Name:     "lanes/are_shared_fairly_after_being_drained",
		Contract: "A lane above the fair share is called draining, and moves in a round after its relay has said that it is drained.",
		Check: func(f *Fixture) {
			a := f.join(long)
			all := len(a.held)
			b := f.join(long)
			f.want("lanes of a joiner before anything is given back", len(b.held), 0)
			a.acquire()
			f.want("lanes that the first still claims", len(a.lanes()), all-all/2)
			b.acquire()
			f.want("lanes of the joiner while they drain", len(b.held), 0)
			a.acquire()
			b.acquire()
			f.want("lanes of each", []int{len(a.held), len(b.held)}, []int{all - all/2, all / 2})
			f.wantDisjoint(a, b)
		},
	},
	{
		Name:     "lanes/stay_while_a_claim_names_a_message_of_them",
		Contract: "A lane is given back only while no claim names a message of it.",
		Check: func(f *Fixture) {
			a := f.join(long)
			for i := range 200 {
				f.put(message("", string(rune('a'+i%26))))
			}
			claim := a.claim(func(r *outbox.ClaimRequest) { r.Limit = 200 })
			f.want("claimed", len(claim.Messages), 200)
			b := f.join(long)
			for range 3 {
				a.acquire()
				b.acquire()
			}
			busy := make(map[int]bool)
			for _, m := range claim.Messages {
				busy[m.Lane] = true
			}
			for _, l := range b.held {
				if busy[l.Lane] {
					f.Errorf("lane %d moved while a claim names a message of it", l.Lane)
				}
			}
			a.settle(claim, delivered)
			for range 3 {
				a.acquire()
				b.acquire()
			}
			if len(b.held) < len(a.held)-1 {
				f.Errorf("after the settle: got %d and %d lanes, want fair shares", len(a.held), len(b.held))
			}
		},
	},
	{
		Name:     "lanes/change_their_epoch_when_they_are_lost",
		Contract: "A claim that was made for lanes of an older epoch gets nothing, also when the lane has come back.",
		Check: func(f *Fixture) {
			a := f.join(long)
			stale := a.request()
			if err := f.Store.Void(f.Context(), a.request()); err != nil {
				f.Fatal(err)
			}
			f.putAll("a", "1")
			claim, err := f.Store.Claim(f.Context(), stale)
			if err != nil {
				f.Fatal(err)
			}
			f.want("claimed at the old epoch", payloads(claim), []string(nil))
			a.acquire()
			f.want("claimed at the new one", payloads(a.claim()), []string{"1"})
		},
	},
	{
		Name:     "lanes/of_an_expired_session_are_taken_and_it_never_lives_again",
		Contract: "A session that expired owns nothing and gets ErrSessionEnded; its lanes go to those that are alive.",
		Check: func(f *Fixture) {
			dead, heir := f.join(short), f.join(long)
			f.eventually("taking over the lanes", func() bool { heir.acquire(); return len(heir.held) == len(dead.held) })
			if err := dead.tryAcquire(); !errors.Is(err, outbox.ErrSessionEnded) {
				f.Errorf("acquire: got %v, want ErrSessionEnded", err)
			}
			if r, ok := f.Store.(outbox.LaneRenewer); ok {
				if err := r.RenewLanes(f.Context(), dead.id, long); !errors.Is(err, outbox.ErrSessionEnded) {
					f.Errorf("renew: got %v, want ErrSessionEnded", err)
				}
			}
			f.putAll("a", "1")
			f.want("claimed by the dead", payloads(dead.claim()), []string(nil))
		},
	},
	{
		Name:     "lanes/are_kept_by_renewal_alone",
		Contract: "RenewLanes extends the lease of all lanes and changes nothing else.",
		Check: func(f *Fixture) {
			r, ok := f.Store.(outbox.LaneRenewer)
			if !ok {
				return
			}
			a := f.living(func(a *session) error { return r.RenewLanes(f.Context(), a.id, long) })
			gone := f.join(short) // when this one has expired, a's first lease has too
			f.eventually("the end of another session", func() bool {
				return errors.Is(r.RenewLanes(f.Context(), gone.id, 1), outbox.ErrSessionEnded) // 1 ns renews nothing
			})
			f.putAll("a", "1")
			f.want("claimed", payloads(a.claim()), []string{"1"})
		},
	},
	{
		Name:     "lanes/are_free_at_once_after_release",
		Contract: "ReleaseLanes ends the session: its lanes are free for the next round of any peer, and it never lives again.",
		Check: func(f *Fixture) {
			r, ok := f.Store.(outbox.LaneReleaser)
			if !ok {
				return
			}
			a, b := f.join(long), f.join(long)
			if err := r.ReleaseLanes(f.Context(), a.id); err != nil {
				f.Fatal(err)
			}
			b.acquire()
			f.want("lanes of the peer", len(b.held), len(a.held))
			if err := a.tryAcquire(); !errors.Is(err, outbox.ErrSessionEnded) {
				f.Errorf("acquire: got %v, want ErrSessionEnded", err)
			}
		},
	},
}

func (f *Fixture) wantDisjoint(a, b *session) {
	f.Helper()
	mine := make(map[int]bool)
	for _, l := range a.held {
		mine[l.Lane] = true
	}
	for _, l := range b.held {
		if mine[l.Lane] {
			f.Errorf("lane %d has two owners", l.Lane)
		}
	}
}
