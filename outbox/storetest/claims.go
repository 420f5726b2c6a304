package storetest

import (
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

var claimCases = []Case{
	{
		Name:     "claim/takes_a_message_once",
		Contract: "A message is in at most one open claim.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			f.want("first claim", payloads(a.claim()), []string{"1", "2"})
			f.want("second claim", payloads(a.claim(func(r *outbox.ClaimRequest) { r.Worker = 1 })), []string(nil))
		},
	},
	{
		Name:     "claim/leaves_the_later_messages_of_its_keys_to_nobody",
		Contract: "While a claim is open, no other one gets a later message of its keys.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1")
			c := a.claim()
			f.putAll("a", "2")
			f.want("second claim", payloads(a.claim(func(r *outbox.ClaimRequest) { r.Worker = 1 })), []string(nil))
			a.settle(c, delivered)
			f.want("claimed after the settle", payloads(a.claim()), []string{"2"})
		},
	},
	{
		Name:     "claim/stops_at_its_limit_and_goes_on_from_there",
		Contract: "A claim holds at most Limit messages, the oldest ones; the next claim has those that follow.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3", "4", "5")
			two := func(r *outbox.ClaimRequest) { r.Limit = 2 }
			for _, want := range [][]string{{"1", "2"}, {"3", "4"}, {"5"}, nil} {
				c := a.claim(two)
				f.want("claim", payloads(c), want)
				if len(want) > 0 {
					a.settle(c, delivered)
				}
			}
		},
	},
	{
		Name:     "claim/stops_at_its_bytes_but_always_takes_the_first",
		Contract: "A claim of several messages holds at most Bytes of payload; the first fits always; a bound stops and never skips.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "0123456789ABC", "45", "67", "89AB", "x") // the last one would fit where the fourth does not
			six := func(r *outbox.ClaimRequest) { r.Bytes = 6 }
			for _, want := range [][]string{{"0123456789ABC"}, {"45", "67"}, {"89AB", "x"}} {
				c := a.claim(six)
				f.want("claim", payloads(c), want)
				a.settle(c, delivered)
			}
		},
	},
	{
		Name:     "claim/bounds_the_messages_of_one_key",
		Contract: "PerKey bounds the messages of one key in a claim, not those of others or without a key; what is left behind comes next, in order.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3", "4", "5")
			f.putAll("", "x", "y", "z")
			two := func(r *outbox.ClaimRequest) { r.PerKey = 2 }
			var got []string
			for range 3 {
				c := a.claim(two)
				n := 0
				for _, m := range c.Messages {
					if m.Key == "a" {
						n++
						got = append(got, string(m.Payload))
					}
				}
				if n > 2 {
					f.Errorf("a claim holds %d messages of a key, want at most 2", n)
				}
				if len(c.Messages) > 0 {
					a.settle(c, delivered)
				}
			}
			f.want("order of the key", got, []string{"1", "2", "3", "4", "5"})
		},
	},
	{
		Name:     "claim/calls_its_lanes_dry_only_if_they_are",
		Contract: "When a claim that says Dry has been delivered, nothing that was there can be claimed in its lanes, whatever bounds it had.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2", "3", "4", "5", "6", "7")
			f.putAll("b", "1", "2")
			for i := range 30 { // many keys, also of one lane
				f.put(message(fmt.Sprint("c", i), "0123456789"))
			}
			a.wantDryLast(func(r *outbox.ClaimRequest) { r.Limit = 3 })
			for i := range 30 {
				f.put(message(fmt.Sprint("c", i), "0123456789"))
			}
			a.wantDryLast(func(r *outbox.ClaimRequest) { r.Bytes = 25 })
			f.putAll("a", "1", "2", "3", "4", "5", "6", "7")
			for i := range 30 {
				f.put(message(fmt.Sprint("c", i), "0123456789"))
			}
			a.wantDryLast(func(r *outbox.ClaimRequest) { r.PerKey, r.Limit = 2, 20 })
		},
	},
	{
		Name:     "claim/calls_no_lane_dry_behind_a_message_that_held_its_key",
		Contract: "A claim is not Dry if delivering it lets later messages of a key pass.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
				if string(m.Payload) == "1" {
					return failed(outbox.Retry, 0)
				}
				return released
			})
			c := a.claimSome()
			f.want("due again", payloads(c), []string{"1"})
			f.want("dry", c.Dry, false)
			a.settle(c, delivered)
			f.want("let pass", payloads(a.claim()), []string{"2"})
		},
	},
	{
		Name:     "claim/reads_only_the_lanes_that_were_asked_for",
		Contract: "A claim holds messages of the requested lanes only.",
		Check: func(f *Fixture) {
			a := f.join(long)
			for i := range 50 {
				f.put(message(fmt.Sprint(i), fmt.Sprint(i)))
			}
			half := a.lanes()[:len(a.lanes())/2]
			asked := make(map[int]bool)
			for _, l := range half {
				asked[l.Lane] = true
			}
			c := a.claim(func(r *outbox.ClaimRequest) { r.Lanes = half })
			for _, m := range c.Messages {
				if !asked[m.Lane] {
					f.Errorf("got a message of lane %d, which was not asked for", m.Lane)
				}
			}
			rest := a.claim(func(r *outbox.ClaimRequest) { r.Lanes, r.Worker = a.lanes()[len(half):], 1 })
			f.want("messages of both halves", len(c.Messages)+len(rest.Messages), 50)
		},
	},
	{
		Name:     "claim/waits_for_the_time_of_a_scheduled_message",
		Contract: "A message is not claimed before AvailableAt; until then it neither holds its key nor is held by it.",
		Check: func(f *Fixture) {
			a := f.join(long)
			later := message("a", "later")
			later.AvailableAt = time.Now().Add(3 * time.Second)
			far := message("b", "far")
			far.AvailableAt = time.Now().Add(time.Hour)
			f.put(later, far, message("a", "now"), message("b", "now"))
			c := a.claim()
			f.want("claimed before the time", len(c.Messages), 2)
			a.settle(c, delivered)
			f.want("claimed after it", payloads(a.claimSome()), []string{"later"})
		},
	},
	{
		Name:     "claim/undone_leaves_no_trace",
		Contract: "After Void a claim names nothing and its messages are claimed again as if they had never been; it counts no attempt.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1", "2")
			r := a.request()
			claim, err := f.Store.Claim(f.Context(), r)
			if err != nil {
				f.Fatal(err)
			}
			f.want("claimed", len(claim.Messages), 2)
			for range 2 { // a repeat changes nothing
				if err := f.Store.Void(f.Context(), r); err != nil {
					f.Fatal(err)
				}
			}
			a.wantLost(claim)
			a.acquire()
			again := a.claim()
			f.want("claimed again", payloads(again), []string{"1", "2"})
			for _, m := range again.Messages {
				f.want("attempts and suspicion", []any{m.Attempts, m.Suspect}, []any{0, false})
			}
		},
	},
	{
		Name:     "claim/undone_before_it_ran_cannot_come_to_exist",
		Contract: "A claim that reaches the database after its Void gets nothing.",
		Check: func(f *Fixture) {
			a := f.join(long)
			f.putAll("a", "1")
			r := a.request()
			if err := f.Store.Void(f.Context(), r); err != nil {
				f.Fatal(err)
			}
			claim, err := f.Store.Claim(f.Context(), r)
			if err != nil {
				f.Fatal(err)
			}
			f.want("claimed", payloads(claim), []string(nil))
			a.acquire()
			f.want("claimed later", payloads(a.claim()), []string{"1"})
		},
	},
}

// wantDryLast claims and delivers until a claim is empty: those before must not have called the lanes dry.
func (s *session) wantDryLast(bounded func(*outbox.ClaimRequest)) {
	s.Helper()
	for dry := false; ; {
		c := s.claim(bounded)
		if len(c.Messages) == 0 {
			return
		}
		if dry {
			s.Errorf("claimed %d messages in lanes that were dry", len(c.Messages))
		}
		dry = c.Dry
		s.settle(c, delivered)
	}
}
