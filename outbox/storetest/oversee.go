package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

var overseeCases = []Case{
	{
		Name:     "oversee/shows_who_holds_which_lanes_and_how_much_is_in_flight",
		Contract: "Each session that lives is shown with its label, its lanes, what its claims name, its age, and what is left of its lease.",
		Check:    overseen(checkSessions),
	},
	{
		Name:     "oversee/shows_a_session_that_expired_until_somebody_recovers_it",
		Contract: "A session that has expired stays in sight with what it holds, and is gone once that was recovered.",
		Check: overseen(func(o *overseer) {
			o.putAll("a", "1")
			a := o.living(claiming(1))
			o.eventually("expiring", func() bool {
				all := o.sessions()
				return len(all) == 1 && all[0].Expiry <= 0 && all[0].InFlight == 1 && len(all[0].Lanes) == len(a.held)
			})
			heir := o.join(long)
			o.want("sessions after the recovery", idsOf(o.sessions()), []uuid.UUID{heir.id})
		}),
	},
	{
		Name:     "oversee/groups_what_fails_by_what_went_wrong",
		Contract: "Messages of one status, topic, type, class and error but for its digits are one group, and the largest group comes first.",
		Check:    overseen(checkFailures),
	},
	{
		Name:     "oversee/takes_nothing_for_a_failure_that_was_not_handed_over",
		Contract: "What waits for its turn or its time, is in flight, held, paused or requeued is no failure.",
		Check:    overseen(checkNoFailures),
	},
	{
		Name:     "oversee/shows_what_was_done_the_latest_first",
		Contract: "Each act is shown with who, why, when and on what, the latest first, in pages, of one message or of all.",
		Check:    overseen(checkAudit),
	},
}

// overseer is a fixture whose store shows what operators ask for.
type overseer struct {
	*inspector
	outbox.Overseer
}

// overseen runs check where the store is an Overseer.
func overseen(check func(*overseer)) func(*Fixture) {
	return inspected(func(i *inspector) {
		if o, ok := i.Store.(outbox.Overseer); ok {
			check(&overseer{i, o})
		}
	})
}

func (o *overseer) sessions() []outbox.Session {
	o.Helper()
	sessions, err := o.Sessions(o.Context())
	if err != nil {
		o.Fatalf("sessions: %v", err)
	}
	return sessions
}

func (o *overseer) failures() []outbox.FailureGroup {
	o.Helper()
	f, err := o.Failures(o.Context())
	if err != nil {
		o.Fatalf("failures: %v", err)
	}
	o.want("capped", f.Capped, false)
	return f.Groups
}

func (o *overseer) audit(message uuid.UUID, before int64, limit int) []outbox.AuditEntry {
	o.Helper()
	entries, err := o.Audit(o.Context(), message, before, limit)
	if err != nil {
		o.Fatalf("audit: %v", err)
	}
	return entries
}

func idsOf(sessions []outbox.Session) []uuid.UUID {
	var ids []uuid.UUID
	for _, s := range sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

func checkSessions(o *overseer) {
	o.want("sessions of an unused store", len(o.sessions()), 0)
	a := o.join(long)
	b := o.join(long)
	a.acquire() // learns what to drain
	a.acquire() // gives it back
	b.acquire()
	o.putAll("", "1", "2", "3", "4", "5", "6")
	inFlight := map[uuid.UUID]int{a.id: len(a.claim().Messages), b.id: len(b.claim().Messages)}
	o.want("claimed", inFlight[a.id]+inFlight[b.id], 6)
	order := []string{a.id.String(), b.id.String()}
	slices.Sort(order)
	got := o.sessions()
	o.want("sessions", idsOf(got), order)
	for _, s := range got {
		own := map[uuid.UUID]*session{a.id: a, b.id: b}[s.ID]
		var lanes []int
		for _, l := range own.held {
			lanes = append(lanes, l.Lane)
		}
		o.want("label, lanes, in flight, stopped",
			[]any{s.Relay, s.Lanes, s.InFlight, s.Stopped}, []any{"storetest", lanes, inFlight[s.ID], false})
		if s.Age < 0 || s.Age > limit || s.Expiry > long || s.Expiry < long-limit {
			o.Errorf("got age %v and expiry %v, want a moment and the rest of %v", s.Age, s.Expiry, long)
		}
	}
}

func checkFailures(o *overseer) {
	a := o.join(long)
	for n := range 3 {
		o.putAll(fmt.Sprint("parked", n), "parked")
	}
	for _, payload := range []string{"retrying", "skipped", "delivered"} {
		o.putAll(payload, payload)
	}
	c := a.claim()
	var errs int
	a.settleEach(c, func(m *outbox.Claimed) outbox.Outcome {
		if string(m.Payload) == "delivered" {
			return delivered
		}
		outcome := asNamed(m)
		errs++
		outcome.Err = fmt.Errorf("dial 10.0.0.%d:%d", errs, 8*errs)
		if string(m.Payload) == "skipped" {
			outcome.Class = outbox.ClassPermanent
		}
		return outcome
	})
	other := message("other", "parked")
	other.Topic, other.Type = "topic", "Type"
	o.put(other)
	a.settle(a.claim(), outbox.Outcome{Verdict: outbox.ParkKey, Class: outbox.ClassRefused, Err: errors.New("other")})

	groups := o.failures()
	var lines []string
	for _, g := range groups {
		lines = append(lines, fmt.Sprint(g.Status, " ", g.Topic, " ", g.Type, " ", g.Class, " ", g.Messages))
		found := o.find(outbox.Filter{ID: g.Example})
		if len(found) != 1 || found[0].Status != g.Status || found[0].LastError != g.Error {
			o.Errorf("example of %+v: got %+v, want its message with its error", g, found)
		}
		if g.Oldest < 0 || g.Oldest > limit { // 0 within a tick of the clock
			o.Errorf("oldest: got %v, want a moment", g.Oldest)
		}
	}
	o.want("the largest group", lines[0], "parked orders OrderPlaced refused 3")
	oldest := o.find(outbox.Filter{Status: outbox.StatusParked, Topic: "orders"})[0]
	o.want("example", groups[0].Example, oldest.ID)
	slices.Sort(lines)
	o.want("groups", lines, []string{
		"parked orders OrderPlaced refused 3", "parked topic Type refused 1", "retrying orders OrderPlaced refused 1",
		"skipped orders OrderPlaced permanent 1",
	})
}

func checkNoFailures(o *overseer) {
	heir, _ := o.crash(1)
	o.want("failures", statusesOf(o.failures()), []outbox.Status{outbox.StatusSuspect})
	heir.settle(heir.claim(suspects), failed(outbox.ParkKey, 0))
	o.do(outbox.Inspector.Requeue, "1")
	o.want("failures once it was requeued", statusesOf(o.failures()), []outbox.Status(nil))
	o.putAll("retried", "retried")
	heir.settle(heir.claim(), failed(outbox.Retry, 0))
	o.eventually("the retried ones to be in flight", func() bool {
		heir.claim()
		return len(o.find(outbox.Filter{Status: outbox.StatusInFlight})) == 2
	})
	later := message("later", "later")
	later.AvailableAt = time.Now().Add(time.Hour)
	o.put(later, message("retried", "held"), message("pending", "pending"))
	o.want("failures of what is under way", statusesOf(o.failures()), []outbox.Status(nil))
	if p, ok := o.Store.(outbox.Pauser); ok {
		heir.settle(heir.claim(), failed(outbox.Retry, time.Hour))
		o.want("failures", statusesOf(o.failures()), []outbox.Status{outbox.StatusRetrying})
		if err := p.Pause(o.Context(), because, outbox.Scope{}); err != nil {
			o.Fatal(err)
		}
		o.want("failures once all is paused", statusesOf(o.failures()), []outbox.Status(nil))
	}
}

func statusesOf(groups []outbox.FailureGroup) []outbox.Status {
	var statuses []outbox.Status
	for _, g := range groups {
		statuses = append(statuses, g.Status)
	}
	return statuses
}

func checkAudit(o *overseer) {
	a := o.join(long)
	o.putAll("a", "1")
	o.putAll("", "2")
	a.settle(a.claim(), failed(outbox.ParkKey, 0))
	ids := map[string]uuid.UUID{}
	for _, r := range o.find(outbox.Filter{}) {
		ids[string(r.Payload)] = r.ID
	}
	want := []string{
		fmt.Sprint("skip {orders a} ", ids["1"]), fmt.Sprint("discard {orders } ", ids["2"]),
		fmt.Sprint("requeue {orders a} ", ids["1"]),
	}
	o.do(outbox.Inspector.Skip, "1")
	o.do(outbox.Inspector.Discard, "2")
	o.do(outbox.Inspector.Requeue, "1")
	if p, ok := o.Store.(outbox.Pauser); ok {
		scope := outbox.Scope{Key: "a"}
		if err := errors.Join(p.Pause(o.Context(), because, scope), p.Resume(o.Context(), because, scope)); err != nil {
			o.Fatal(err)
		}
		want = append(want, fmt.Sprint("pause { a} ", uuid.Nil), fmt.Sprint("resume { a} ", uuid.Nil))
	}
	slices.Reverse(want)
	all := o.audit(uuid.Nil, 0, 100)
	o.want("acts", deeds(all), want)
	for _, e := range all {
		o.want("who and why", e.Act, because)
		if age := time.Since(e.At); age < -limit || age > limit {
			o.Errorf("done %v ago, want just now", age)
		}
	}
	o.want("acts on one message", deeds(o.audit(ids["1"], 0, 100)), []string{want[len(want)-3], want[len(want)-1]})
	o.want("a page", deeds(o.audit(uuid.Nil, all[0].Number, 1)), want[1:2])
	o.want("acts on one message before the last", deeds(o.audit(ids["1"], all[len(all)-3].Number, 9)), want[len(want)-1:])
	o.want("acts before the first", len(o.audit(uuid.Nil, all[len(all)-1].Number, 9)), 0)
	o.want("a page of none", len(o.audit(uuid.Nil, 0, 0)), 0)
}

func deeds(entries []outbox.AuditEntry) []string {
	var texts []string
	for _, e := range entries {
		texts = append(texts, fmt.Sprint(e.Deed, " ", e.Scope, " ", e.Message))
	}
	return texts
}
