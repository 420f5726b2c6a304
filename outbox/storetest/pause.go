package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postroom/postroom/outbox"
)

var pauseCases = []Case{
	{
		Name:     "pause/holds_back_a_topic_a_key_or_everything",
		Contract: "What a pause covers is not claimed until it ends, and everything else is, in order.",
		Check:    paused(checkScopes),
	},
	{
		Name:     "pause/keeps_no_one_waiting_behind_many_paused_messages",
		Contract: "Claims come to messages that are not paused, however many paused ones come before them.",
		Check: paused(func(p *pauser) {
			a := p.join(long)
			p.pause(outbox.Scope{Topic: "paused"})
			for n := range 20 {
				p.putOf("paused", fmt.Sprint("k", n), "paused")
				p.putOf("paused", "", "paused")
			}
			p.putAll(neighbour("k1", len(a.held)), "1")
			c := a.claimSome(func(r *outbox.ClaimRequest) { r.Limit = 3 })
			p.want("claimed", payloads(c), []string{"1"})
			a.settle(c, delivered)
			p.resume(outbox.Scope{Topic: "paused"})
			p.want("delivered after the pause", len(a.drain()), 40)
		}),
	},
	{
		Name:     "pause/of_a_topic_holds_later_messages_of_the_same_keys",
		Contract: "A message is never claimed before an earlier one of its key that is paused, whatever its topic.",
		Check: paused(func(p *pauser) {
			a := p.join(long)
			p.putAll("a", "1")
			p.putOf("paused", "a", "2")
			p.putAll("a", "3")
			p.pause(outbox.Scope{Topic: "paused"})
			p.want("delivered before the pause holds the key", a.drain(), []string{"1"})
			p.putAll("a", "4")
			p.putAll(neighbour("a", len(a.held)), "neighbour")
			p.want("delivered beside the key", a.drain(), []string{"neighbour"})
			p.resume(outbox.Scope{Topic: "paused"})
			p.want("delivered after the pause", a.drain(), []string{"2", "3", "4"})
		}),
	},
	{
		Name:     "pause/holds_what_waits_for_a_retry_and_what_is_scheduled",
		Contract: "A message that becomes due while it is paused is not claimed, and nothing later of its key is.",
		Check: paused(func(p *pauser) {
			a := p.join(long)
			p.putAll("a", "1", "2")
			a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
				if string(m.Payload) == "1" {
					return failed(outbox.Retry, 50*time.Millisecond)
				}
				return released
			})
			later := message("b", "3")
			later.AvailableAt = time.Now().Add(time.Second)
			p.put(later)
			p.pause(outbox.Scope{Topic: "orders"})
			p.eventually("being due", func() bool { return time.Since(later.AvailableAt) > 100*time.Millisecond })
			p.want("claimed", payloads(a.claim()), []string(nil))
			p.resume(outbox.Scope{Topic: "orders"})
			p.want("delivered of a", ofKey(p.drainClaims(a), "a"), []string{"1", "2"})
		}),
	},
	{
		Name:     "pause/leaves_suspects_alone",
		Contract: "A suspect that is paused is not claimed, and is a suspect again when the pause ends.",
		Check: paused(func(p *pauser) {
			heir, _ := p.crash(1)
			p.pause(outbox.Scope{Topic: "orders"})
			p.want("suspects claimed", payloads(heir.claim(suspects)), []string(nil))
			p.resume(outbox.Scope{Topic: "orders"})
			c := heir.claim(suspects)
			p.want("suspects claimed after the pause", payloads(c), []string{"1"})
			p.want("suspicion, attempts and crashes", []any{c.Messages[0].Suspect, c.Messages[0].Attempts}, []any{true, 1})
		}),
	},
	{
		Name:     "pause/lets_open_claims_go_on_and_counts_no_attempt",
		Contract: "A claim that is open when a pause begins is settled as any other, and a pause costs no attempt.",
		Check: paused(func(p *pauser) {
			a := p.join(long)
			p.putAll("a", "1", "2")
			c := a.claim(func(r *outbox.ClaimRequest) { r.Limit = 1 })
			p.pause(outbox.Scope{})
			p.want("settled", a.settle(c, delivered), 1)
			p.want("claimed", payloads(a.claim()), []string(nil))
			p.resume(outbox.Scope{})
			m := a.claim().Messages[0]
			p.want("payload and counts", []any{string(m.Payload), m.Attempts, m.Failures, m.Crashes}, []any{"2", 0, 0, 0})
		}),
	},
	{
		Name:     "pause/lasts_until_the_last_one_that_covers_a_message_ends",
		Contract: "A message that two pauses cover is claimed when both have ended; ending one that is not there changes nothing.",
		Check: paused(func(p *pauser) {
			a := p.join(long)
			p.putAll("a", "1", "2")
			p.putAll("b", "1")
			p.pause(outbox.Scope{Topic: "orders"})
			p.pause(outbox.Scope{Topic: "orders"})
			p.pause(outbox.Scope{Key: "a"})
			p.want("claimed", payloads(a.claim()), []string(nil))
			p.resume(outbox.Scope{Key: "b"})
			p.want("claimed after another key's pause", payloads(a.claim()), []string(nil))
			p.resume(outbox.Scope{Topic: "orders"})
			p.want("delivered of the other key", a.drain(), []string{"1"})
			p.resume(outbox.Scope{Key: "a"})
			p.want("delivered of the key", a.drain(), []string{"1", "2"})
		}),
	},
	{
		Name:     "pause/is_shown_with_who_paused_and_why",
		Contract: "Pauses are listed, the messages that they cover have the status paused, and are counted by it.",
		Check:    paused(checkPauses),
	},
	{
		Name:     "pause/asks_who_acts_and_why_and_for_one_scope",
		Contract: "An act without By or Reason, and a scope of a topic and a key, are a FieldError, and nothing changes.",
		Check: paused(func(p *pauser) {
			for field, call := range map[string]func() error{
				"By":     func() error { return p.Pause(p.Context(), outbox.Act{Reason: "x"}, outbox.Scope{}) },
				"Reason": func() error { return p.Resume(p.Context(), outbox.Act{By: "x"}, outbox.Scope{}) },
				"Scope":  func() error { return p.Pause(p.Context(), because, outbox.Scope{Topic: "t", Key: "k"}) },
				"Key":    func() error { return p.Pause(p.Context(), because, outbox.Scope{Key: strings.Repeat("k", 1025)}) },
			} {
				if e, ok := errors.AsType[*outbox.FieldError](call()); !ok || e.Field != field {
					p.Errorf("got %v, want a FieldError of %s", e, field)
				}
			}
			p.want("pauses", len(p.pauses()), 0)
		}),
	},
	{
		Name:     "pause/wakes_relays_when_it_ends",
		Contract: "The end of a pause wakes a relay that waits.",
		Check: paused(func(p *pauser) {
			w, ok := p.Store.(outbox.Waker)
			if !ok {
				return
			}
			a := p.join(long)
			p.putAll("a", "1")
			p.pause(outbox.Scope{Key: "a"})
			p.want("claimed", payloads(a.claim()), []string(nil))
			woken := w.Wake(p.Context())
			p.resume(outbox.Scope{Key: "a"})
			select {
			case lanes := <-woken:
				if lane := outbox.LaneOf(message("a", ""), len(a.held)); lanes != nil && !slices.Contains(lanes, lane) {
					p.Errorf("woke lanes %v, want %d or any", lanes, lane)
				}
			case <-time.After(limit):
				p.Error("nobody was woken")
			}
		}),
	},
}

// pauser is a fixture whose store can be paused, and inspected if it is an Inspector.
type pauser struct {
	*inspector
	outbox.Pauser
}

// paused runs check where the store is a Pauser.
func paused(check func(*pauser)) func(*Fixture) {
	return func(f *Fixture) {
		if p, ok := f.Store.(outbox.Pauser); ok {
			i, _ := f.Store.(outbox.Inspector)
			check(&pauser{&inspector{f, i}, p})
		}
	}
}

func (p *pauser) pause(s outbox.Scope) {
	p.Helper()
	if err := p.Pause(p.Context(), because, s); err != nil {
		p.Fatalf("pause %+v: %v", s, err)
	}
}

func (p *pauser) resume(s outbox.Scope) {
	p.Helper()
	if err := p.Resume(p.Context(), because, s); err != nil {
		p.Fatalf("resume %+v: %v", s, err)
	}
}

func (p *pauser) pauses() []outbox.Pause {
	p.Helper()
	pauses, err := p.Pauses(p.Context())
	if err != nil {
		p.Fatalf("pauses: %v", err)
	}
	return pauses
}

// putOf commits a message of a topic.
func (p *pauser) putOf(topic, key, payload string) {
	p.Helper()
	m := message(key, payload)
	m.Topic = topic
	p.put(m)
}

func checkScopes(p *pauser) {
	a := p.join(long)
	for _, c := range []struct {
		scope outbox.Scope
		first []string
	}{
		{outbox.Scope{Topic: "t"}, []string{"b1", "b2", "c1"}},
		{outbox.Scope{Key: "a"}, []string{"b1", "b2", "c1"}},
		{outbox.Scope{}, nil},
	} {
		p.putOf("t", "a", "a1")
		p.putAll("b", "b1")
		p.pause(c.scope)
		p.putOf("t", "a", "a2")
		p.putAll("b", "b2")
		p.putAll("", "c1")
		got := a.drain()
		slices.Sort(got)
		p.want(fmt.Sprintf("delivered while %+v is paused", c.scope), got, c.first)
		p.resume(c.scope)
		rest := p.drainClaims(a)
		p.want("delivered of a after the pause", ofKey(rest, "a"), []string{"a1", "a2"})
		p.want("delivered after the pause", len(rest), 5-len(c.first))
	}
}

// drainClaims claims and delivers until a claim is empty.
func (p *pauser) drainClaims(a *session) []*outbox.Claimed {
	p.Helper()
	var all []*outbox.Claimed
	for {
		c := a.claim()
		if len(c.Messages) == 0 {
			return all
		}
		all = append(all, c.Messages...)
		a.settle(c, delivered)
	}
}

func ofKey(messages []*outbox.Claimed, key string) []string {
	var ps []string
	for _, m := range messages {
		if m.Key == key {
			ps = append(ps, string(m.Payload))
		}
	}
	return ps
}

func checkPauses(p *pauser) {
	a := p.join(long)
	p.putOf("t", "a", "1")
	p.putOf("t", "", "2")
	p.putAll("b", "3")
	p.pause(outbox.Scope{Topic: "t"})
	p.pause(outbox.Scope{Key: "z"})
	pauses := p.pauses()
	p.want("pauses", len(pauses), 2)
	p.want("the first", []any{pauses[0].Scope, pauses[0].Act}, []any{outbox.Scope{Key: "z"}, because})
	if age := time.Since(pauses[0].At); age < -limit || age > limit {
		p.Errorf("paused %v ago, want just now", age)
	}
	for _, when := range []string{"before a relay has seen them", "after"} {
		if p.Inspector != nil {
			found := p.find(outbox.Filter{Status: outbox.StatusPaused})
			p.want("paused messages "+when, payloadsOf(found), []string{"1", "2"})
			for _, r := range found {
				p.want("due in and available "+when, []any{r.DueIn, r.AvailableAt.IsZero()}, []any{time.Duration(0), true})
			}
		}
		if b, ok := p.Store.(outbox.Backlogger); ok {
			p.want("backlog "+when, (&backlogger{p.Fixture, b}).backlog().Messages(outbox.StatusPaused), 2)
		}
		p.want("claimed", slices.Compact(payloads(a.claim())), map[bool][]string{true: {"3"}}[when != "after"])
	}
	p.resume(outbox.Scope{Topic: "t"})
	p.want("pauses left", len(p.pauses()), 1)
}
