package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

var actCases = []Case{
	{
		Name:     "act/requeue_resumes_the_key_in_order",
		Contract: "A requeued message is due at once, before everything that waited behind it or was committed meanwhile.",
		Check:    inspected(func(i *inspector) { i.checkResumes(outbox.Inspector.Requeue, "1") }),
	},
	{
		Name:     "act/skip_lets_the_key_go_on_in_order",
		Contract: "What waited behind a message that is skipped is delivered in order, and the message stays.",
		Check: inspected(func(i *inspector) {
			i.checkResumes(outbox.Inspector.Skip)
			i.want("kept", payloadsOf(i.find(outbox.Filter{Status: outbox.StatusSkipped})), []string{"1", "1"})
		}),
	},
	{
		Name:     "act/discard_lets_the_key_go_on_in_order",
		Contract: "What waited behind a message that is discarded is delivered in order, and the message is gone.",
		Check: inspected(func(i *inspector) {
			i.checkResumes(outbox.Inspector.Discard)
			i.want("kept", payloadsOf(i.find(outbox.Filter{})), []string(nil))
		}),
	},
	{
		Name:     "act/requeue_holds_the_key_against_suspects",
		Contract: "A requeued message holds its key until it is settled: no suspect behind it is claimed first.",
		Check: inspected(func(i *inspector) {
			heir, _ := i.crash(3)
			heir.settle(heir.claim(suspects), failed(outbox.ParkKey, 0))
			i.do(outbox.Inspector.Requeue, "1")
			i.want("suspects claimed", payloads(heir.claim(suspects)), []string(nil))
			i.want("claimed", heir.drain(), []string{"1"})
			for _, p := range []string{"2", "3"} {
				c := heir.claim(suspects)
				i.want("suspect", payloads(c), []string{p})
				heir.settle(c, delivered)
			}
		}),
	},
	{
		Name:     "act/requeue_takes_a_skipped_message_back_into_its_key",
		Contract: "A skipped message that is requeued comes before all later ones of its key that are still stored.",
		Check: inspected(func(i *inspector) {
			a := i.join(long)
			i.putAll("a", "1", "2", "3")
			a.settle(a.claim(func(r *outbox.ClaimRequest) { r.Limit = 1 }), failed(outbox.ParkOne, 0))
			a.settle(a.claim(), released)
			i.do(outbox.Inspector.Requeue, "1")
			i.want("order", a.drain(), []string{"1", "2", "3"})
		}),
	},
	{
		Name:     "act/discard_removes_a_skipped_message",
		Contract: "A skipped message can be discarded.",
		Check: inspected(func(i *inspector) {
			a := i.join(long)
			i.putAll("a", "1")
			a.settle(a.claim(), failed(outbox.ParkOne, 0))
			i.do(outbox.Inspector.Discard, "1")
			i.want("left", payloadsOf(i.find(outbox.Filter{})), []string(nil))
		}),
	},
	{
		Name:     "act/changes_nothing_that_is_not_parked",
		Contract: "Messages that are not parked, or not there, are left alone and not counted.",
		Check:    inspected(checkUntouched),
	},
	{
		Name:     "act/asks_who_acts_and_why",
		Contract: "By and Reason are required, at most 255 bytes of text: a FieldError names the field, and nothing changes.",
		Check:    inspected(checkAct),
	},
	{
		Name:     "act/requeue_starts_counting_again",
		Contract: "A requeued message has no attempts, failures and crashes, and stays uncertain if it was.",
		Check: inspected(func(i *inspector) {
			heir, _ := i.crash(1)
			heir.settle(heir.claim(suspects), failed(outbox.ParkKey, 0))
			got := i.find(outbox.Filter{})[0]
			i.want("counts while parked", []int{got.Attempts, got.Failures, got.Crashes}, []int{2, 1, 1})
			i.do(outbox.Inspector.Requeue, "1")
			got = i.find(outbox.Filter{})[0]
			i.want("counts", []int{got.Attempts, got.Failures, got.Crashes}, []int{0, 0, 0})
			i.want("uncertain", got.Uncertain, true)
			i.want("last error", got.LastError, "refused")
			m := heir.claim().Messages[0]
			i.want("counts of the claimed", []int{m.Attempts, m.Failures, m.Crashes}, []int{0, 0, 0})
			i.want("suspicion", m.Suspect, false)
		}),
	},
}

// inspector is a fixture whose store can be inspected.
type inspector struct {
	*Fixture
	outbox.Inspector
}

type verb = func(outbox.Inspector, context.Context, outbox.Act, ...uuid.UUID) (int, error)

var (
	because = outbox.Act{By: "an operator", Reason: "a test"}
	verbs   = map[string]verb{
		"requeue": outbox.Inspector.Requeue, "discard": outbox.Inspector.Discard, "skip": outbox.Inspector.Skip,
	}
)

// inspected runs check where the store is an Inspector.
func inspected(check func(*inspector)) func(*Fixture) {
	return func(f *Fixture) {
		if i, ok := f.Store.(outbox.Inspector); ok {
			check(&inspector{f, i})
		}
	}
}

// find returns the first messages that match.
func (i *inspector) find(f outbox.Filter) []outbox.Record {
	i.Helper()
	return i.page(f, 0, 100)
}

func (i *inspector) page(f outbox.Filter, after int64, limit int) []outbox.Record {
	i.Helper()
	records, err := i.Find(i.Context(), f, after, limit)
	if err != nil {
		i.Fatalf("find: %v", err)
	}
	return records
}

// do acts on the only message with the payload, which must be parked.
func (i *inspector) do(act verb, payload string) {
	i.Helper()
	i.doAll(act, func(r outbox.Record) bool { return string(r.Payload) == payload }, 1)
}

func (i *inspector) doAll(act verb, choose func(outbox.Record) bool, want int) {
	i.Helper()
	var ids []uuid.UUID
	for _, r := range i.find(outbox.Filter{}) {
		if choose(r) {
			ids = append(ids, r.ID)
		}
	}
	n, err := act(i.Inspector, i.Context(), because, ids...)
	if err != nil {
		i.Fatal(err)
	}
	i.want("changed", n, want)
}

func payloadsOf(records []outbox.Record) []string {
	var ps []string
	for _, r := range records {
		ps = append(ps, string(r.Payload))
	}
	return ps
}

// checkResumes parks the first message of two keys, acts, and looks at what is delivered. The second key has messages
// that are committed while it is held and after the act. Meanwhile a neighbour in its lane leads readers past what is
// held.
func (i *inspector) checkResumes(act verb, first ...string) {
	i.Helper()
	a := i.join(long)
	for _, key := range []string{"still", "busy"} {
		i.putAll(key, "1", "2")
		a.settleEach(a.claim(), func(m *outbox.Claimed) outbox.Outcome {
			if string(m.Payload) == "1" {
				return failed(outbox.ParkKey, 0)
			}
			return released
		})
		want := append(slices.Clone(first), "2")
		if key == "busy" {
			i.putAll(key, "3")
		}
		i.putAll(neighbour(key, len(a.held)), "neighbour")
		i.want("delivered behind the parked message", a.drain(), []string{"neighbour"})
		i.doAll(act, func(r outbox.Record) bool { return r.Key == key && r.Status == outbox.StatusParked }, 1)
		if key == "busy" {
			i.putAll(key, "4")
			want = append(want, "3", "4")
		}
		i.want("delivered of "+key, a.drain(), want)
	}
}

// neighbour returns another key of the lane of key.
func neighbour(key string, lanes int) string {
	for n := 0; ; n++ {
		other := fmt.Sprint(key, n)
		if outbox.LaneOf(message(other, ""), lanes) == outbox.LaneOf(message(key, ""), lanes) {
			return other
		}
	}
}

func checkUntouched(i *inspector) {
	a := i.join(long)
	i.putAll("a", "retrying")
	a.settle(a.claim(), failed(outbox.Retry, time.Hour))
	i.putAll("b", "in_flight")
	a.claim()
	i.putAll("c", "pending")
	before := i.find(outbox.Filter{})
	ids := []uuid.UUID{uuid.New()}
	for _, r := range before {
		ids = append(ids, r.ID)
	}
	for name, act := range verbs {
		for _, list := range [][]uuid.UUID{ids, nil} {
			n, err := act(i.Inspector, i.Context(), because, list...)
			if err != nil || n != 0 {
				i.Errorf("%s: changed %d, %v; want none", name, n, err)
			}
		}
	}
	for n, r := range i.find(outbox.Filter{}) {
		got, want := []any{r.ID, r.Status, r.Attempts, r.Failures}, before[n]
		i.want("after", got, []any{want.ID, want.Status, want.Attempts, want.Failures})
	}
	i.want("messages", len(i.find(outbox.Filter{})), len(before))
}

func checkAct(i *inspector) {
	a := i.join(long)
	i.putAll("a", "1")
	a.settle(a.claim(), failed(outbox.ParkKey, 0))
	id := i.find(outbox.Filter{})[0].ID
	for field, act := range map[string]outbox.Act{
		"By":     {Reason: "none is named"},
		"Reason": {By: "somebody"},
	} {
		i.checkRefused(act, field, outbox.CodeMissing, id)
	}
	i.checkRefused(outbox.Act{By: strings.Repeat("x", 256), Reason: "x"}, "By", outbox.CodeTooLong, id)
	i.checkRefused(outbox.Act{By: "x", Reason: strings.Repeat("x", 256)}, "Reason", outbox.CodeTooLong, id)
	i.checkRefused(outbox.Act{By: "x", Reason: "\xff"}, "Reason", outbox.CodeNotUTF8, id)
	i.want("status", i.find(outbox.Filter{})[0].Status, outbox.StatusParked)
	full := outbox.Act{By: strings.Repeat("x", 255), Reason: strings.Repeat("y", 255)}
	if n, err := i.Discard(i.Context(), full, id); n != 1 || err != nil {
		i.Errorf("the longest that is allowed: changed %d, %v; want 1", n, err)
	}
}

func (i *inspector) checkRefused(act outbox.Act, field string, code outbox.Code, id uuid.UUID) {
	i.Helper()
	for name, do := range verbs {
		n, err := do(i.Inspector, i.Context(), act, id)
		e, ok := errors.AsType[*outbox.FieldError](err)
		if !ok || e.Field != field || e.Code != code || n != 0 {
			i.Errorf("%s: got %d, %v; want a FieldError of %s: %s", name, n, err, field, code)
		}
	}
}
