package storetest

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

var findCases = []Case{
	{
		Name:     "find/shows_where_each_message_stands",
		Contract: "Every message has the status that operators know, and can be found by it.",
		Check:    inspected(checkStatuses),
	},
	{
		Name:     "find/tells_the_first_status_that_fits",
		Contract: "Of several things that a message is, its status is the first of parked, skipped, in_flight, retrying, scheduled, held.",
		Check: inspected(func(i *inspector) {
			a := i.join(long)
			i.putAll("a", "parked", "retrying", "skipped")
			a.settleEach(a.claim(), asNamed)
			i.putAll("b", "in_flight")
			a.settle(a.claim(), failed(outbox.Retry, 0))
			i.want("claimed again", payloads(a.claimSome()), []string{"in_flight"})
			later := message("a", "scheduled")
			later.AvailableAt = time.Now().Add(time.Hour)
			i.put(later)
			for _, r := range i.find(outbox.Filter{}) {
				i.want("status", r.Status, string(r.Payload))
			}
		}),
	},
	{
		Name:     "find/matches_every_field_of_the_filter",
		Contract: "Each field of a filter that is set must match; the zero filter matches everything.",
		Check:    inspected(checkFilters),
	},
	{
		Name:     "find/shows_one_message_by_its_id",
		Contract: "A message is found by its id wherever it stands, if it matches what else the filter says.",
		Check:    inspected(checkByID),
	},
	{
		Name:     "find/shows_the_message_and_what_became_of_it",
		Contract: "A record holds the message as it was stored, its number, and what its last hand-over ended with.",
		Check:    inspected(checkRecord),
	},
	{
		Name:     "find/leaves_payloads_out_when_asked",
		Contract: "A record tells the size of its payload, and holds it unless the filter says otherwise.",
		Check:    inspected(checkWithoutPayload),
	},
	{
		Name:     "find/pages_by_number_while_messages_come_and_go",
		Contract: "Each message that stays is on one page, in the order of its number, whatever happens between the pages.",
		Check:    inspected(checkPages),
	},
}

// asNamed makes of a message what its payload says, where an outcome can.
func asNamed(m *outbox.Claimed) outbox.Outcome {
	switch string(m.Payload) {
	case "retrying":
		return failed(outbox.Retry, time.Hour)
	case "parked":
		return failed(outbox.ParkKey, 0)
	case "skipped":
		return failed(outbox.ParkOne, 0)
	}
	return released
}

// checkStatuses makes one message of each status; its payload is the status's name.
func checkStatuses(i *inspector) {
	heir, _ := i.crash(1)
	later := message("scheduled", "scheduled")
	later.AvailableAt = time.Now().Add(time.Hour)
	i.put(later)
	for _, p := range []string{"retrying", "parked", "skipped"} {
		i.putAll(p, p)
	}
	i.putAll("parked", "held")
	heir.settleEach(heir.claim(), asNamed)
	i.putAll("in_flight", "in_flight")
	heir.claim()
	i.putAll("in_flight", "pending")
	for _, status := range []outbox.Status{
		outbox.StatusPending, outbox.StatusScheduled, outbox.StatusInFlight, outbox.StatusHeld, outbox.StatusRetrying,
		outbox.StatusSuspect, outbox.StatusParked, outbox.StatusSkipped,
	} {
		want := string(status)
		if status == outbox.StatusSuspect {
			want = "1"
		}
		found := i.find(outbox.Filter{Status: status})
		i.want(string(status), payloadsOf(found), []string{want})
		for _, r := range found {
			i.want("status", r.Status, status)
		}
	}
	i.want("messages of any status", len(i.find(outbox.Filter{})), 8)
	i.want("messages of no status", len(i.find(outbox.Filter{Status: "none"})), 0)
}

func checkFilters(i *inspector) {
	a := i.join(long)
	i.put(&outbox.Message{Topic: "t", Type: "T", Key: "k", Tenant: "n", Payload: []byte("wanted")})
	a.settle(a.claim(), failed(outbox.Retry, time.Hour))
	i.putAll("other", "other")
	a.settle(a.claim(), outbox.Outcome{Verdict: outbox.Defer, RetryIn: time.Hour, Class: outbox.ClassUnknown})
	for name, f := range map[string]outbox.Filter{
		"topic":  {Topic: "t"},
		"key":    {Key: "k"},
		"type":   {Type: "T"},
		"tenant": {Tenant: "n"},
		"class":  {Class: outbox.ClassRefused},
		"error":  {Error: "fuse"},
		"all": {
			Status: outbox.StatusRetrying, Topic: "t", Key: "k", Type: "T", Tenant: "n",
			Class: outbox.ClassRefused, Error: "refused",
		},
	} {
		i.want("by "+name, payloadsOf(i.find(f)), []string{"wanted"})
	}
	i.want("by fields of two messages", len(i.find(outbox.Filter{Topic: "t", Key: "other"})), 0)
	i.want("by a part that is a pattern", len(i.find(outbox.Filter{Error: "%"})), 0)
	i.want("by everything", len(i.find(outbox.Filter{})), 2)
	i.want("older than an hour", len(i.find(outbox.Filter{OlderThan: time.Hour})), 0)
	i.eventually("being older than 50 ms", func() bool {
		return len(i.find(outbox.Filter{OlderThan: 50 * time.Millisecond})) == 2
	})
}

func checkByID(i *inspector) {
	checkStatuses(i)
	for _, want := range i.find(outbox.Filter{}) {
		found := i.find(outbox.Filter{ID: want.ID})
		i.want("by id of "+string(want.Status), payloadsOf(found), []string{string(want.Payload)})
		for _, r := range found {
			i.want("status", r.Status, want.Status)
		}
		i.want("by id and status", len(i.find(outbox.Filter{ID: want.ID, Status: want.Status})), 1)
		i.want("by id and another status", len(i.find(outbox.Filter{ID: want.ID, Status: outbox.StatusPaused})), 0)
		i.want("behind itself", len(i.page(outbox.Filter{ID: want.ID}, want.Number, 1)), 0)
	}
	i.want("of an id that is not there", len(i.find(outbox.Filter{ID: uuid.New()})), 0)
}

func checkRecord(i *inspector) {
	a := i.join(long)
	m := message("a", "1")
	m.Headers = []outbox.Header{{Name: "x", Value: "1"}, {Name: "x", Value: "2"}}
	empty, tombstone := message("b", ""), message("c", "")
	tombstone.Payload = nil
	i.put(m, empty, tombstone)
	found := i.find(outbox.Filter{})
	i.want("messages", len(found), 3)
	r := found[0]
	i.want("id, topic, type, key, tenant, version",
		[]any{r.ID, r.Topic, r.Type, r.Key, r.Tenant, r.Version}, []any{m.ID, "orders", "OrderPlaced", "a", "", 1})
	i.want("headers", r.Headers, m.Headers)
	i.want("tombstones", []bool{found[1].Payload == nil, found[2].Payload == nil}, []bool{false, true})
	i.want("attempts, failures, uncertain, due, class, error",
		[]any{r.Attempts, r.Failures, r.Uncertain, r.DueIn, r.LastClass, r.LastError},
		[]any{0, 0, false, time.Duration(0), "", ""})
	if age := time.Since(r.CreatedAt); age < -limit || age > limit {
		i.Errorf("created %v ago, want just now", age)
	}
	c := a.claim()
	i.want("lane", r.Lane, c.Messages[0].Lane)
	a.settle(c, outbox.Outcome{Verdict: outbox.Defer, RetryIn: time.Hour, Class: outbox.ClassUnknown, Err: errRollback})
	r = i.find(outbox.Filter{})[0]
	i.want("attempts, failures, uncertain, class, error",
		[]any{r.Attempts, r.Failures, r.Uncertain, r.LastClass, r.LastError},
		[]any{1, 0, true, outbox.ClassUnknown, errRollback.Error()})
	if r.DueIn < time.Hour-limit || r.DueIn > time.Hour {
		i.Errorf("due in %v, want about an hour", r.DueIn)
	}
}

func checkPages(i *inspector) {
	a := i.join(long)
	for _, p := range []string{"1", "2", "3", "4", "5", "6"} {
		i.putAll(p, p) // of different lanes
	}
	a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
		if p := string(m.Payload); p == "2" || p == "3" {
			return failed(outbox.ParkKey, 0)
		}
		return released
	})
	first := i.page(outbox.Filter{}, 0, 2)
	i.want("first page", payloadsOf(first), []string{"1", "2"})
	i.want("page behind the first message", payloadsOf(i.page(outbox.Filter{}, first[0].Number, 1)), []string{"2"})
	i.do(outbox.Inspector.Discard, "2")
	i.do(outbox.Inspector.Requeue, "3")
	i.putAll("7", "7")
	second := i.page(outbox.Filter{}, first[1].Number, 2)
	i.want("second page", payloadsOf(second), []string{"3", "4"})
	a.settle(a.claim(), delivered)
	i.putAll("8", "8")
	i.want("third page", payloadsOf(i.page(outbox.Filter{}, second[1].Number, 2)), []string{"8"})
	i.want("a page of none", len(i.page(outbox.Filter{}, 0, 0)), 0)
}

func checkWithoutPayload(i *inspector) {
	large, empty, tombstone := message("a", strings.Repeat("x", 20_000)), message("b", ""), message("c", "")
	tombstone.Payload = nil
	i.put(large, empty, tombstone)
	for read, without := range []bool{true, false} {
		for n, r := range i.find(outbox.Filter{WithoutPayload: without}) {
			i.want("size", r.Size, []int{20_000, 0, 0}[n])
			i.want("bytes of payload", len(r.Payload), []int{20_000, 0, 0}[n]*read)
			if !without {
				i.want("a tombstone", r.Payload == nil, n == 2)
			}
		}
	}
}
