package verify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/postroom/postroom/verify"
)

// TestCheck_property holds the checker against one that is too simple to be wrong, on small histories of every kind,
// whose records come in any order.
func TestCheck_property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		want := naive(history)
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))).Shuffle(len(history), func(i, j int) {
			history[i], history[j] = history[j], history[i]
		})
		c := verify.NewChecker(verify.Config{})
		for _, r := range history {
			if err := c.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, verdictOf(c.Report())); diff != "" {
			t.Fatalf("verdict (-naive +got):\n%s", diff)
		}
	})
}

// drawHistory draws messages of few keys, deliveries in two streams, and faults. Times of deliveries are distinct.
func drawHistory(t *rapid.T) []verify.Record {
	var history []verify.Record
	messages := rapid.IntRange(0, 7).Draw(t, "messages")
	for n := 1; n <= messages; n++ {
		key := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
		order := int64(n)
		if key == "" || rapid.IntRange(0, 9).Draw(t, "unordered") == 0 {
			order = 0
		}
		switch rapid.SampledFrom([]verify.Kind{
			verify.Committed, verify.Committed, verify.Committed, verify.Unknown, verify.Aborted, "",
		}).Draw(t, "outcome") {
		case verify.Committed:
			history = append(history, committed(n, key, order))
		case verify.Unknown:
			history = append(history, unknown(n, key, order))
		case verify.Aborted:
			history = append(history, told(verify.Aborted, n))
		}
		if kind := rapid.SampledFrom([]verify.Kind{
			"", "", "", verify.Pending, verify.Parked, verify.Skipped, verify.Discarded,
		}).Draw(t, "held"); kind != "" {
			history = append(history, told(kind, n))
		}
	}
	if messages > 0 {
		for offset := range rapid.IntRange(0, 12).Draw(t, "deliveries") {
			r := delivered(rapid.IntRange(1, messages).Draw(t, "delivered"), offset)
			r.Stream = rapid.SampledFrom([]string{"s", "s", "s", "s2"}).Draw(t, "stream")
			r.Redelivered = rapid.IntRange(0, 5).Draw(t, "redelivered") == 0
			r.Topic = rapid.SampledFrom([]string{"t", "t", "t", "t", "t", "u"}).Draw(t, "topic")
			r.Keyless = rapid.IntRange(0, 5).Draw(t, "keyless") == 0
			history = append(history, r)
			if rapid.IntRange(0, 5).Draw(t, "read twice") == 0 {
				history = append(history, r)
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		from, length := rapid.IntRange(0, 12).Draw(t, "from"), rapid.IntRange(0, 6).Draw(t, "length")
		history = append(history, faulty(from, from+length, rapid.IntRange(0, 2).Draw(t, "bound")))
	}
	return history
}

// known is what a history says of one message.
type known struct {
	enqueued *verify.Record // committed or unknown
	held     verify.Kind
	copies   []verify.Record // in order of arrival, without those that are none
}

func naive(history []verify.Record) verdict {
	all := map[uuid.UUID]*known{}
	var faults []verify.Record
	for _, r := range history {
		if r.Kind == verify.Fault {
			faults = append(faults, r)
			continue
		}
		m := all[r.ID]
		if m == nil {
			m = &known{}
			all[r.ID] = m
		}
		switch r.Kind {
		case verify.Committed, verify.Unknown:
			m.enqueued = &r
		case verify.Delivered:
			if len(m.copies) == 0 || m.copies[len(m.copies)-1] != r {
				m.copies = append(m.copies, r)
			}
		case verify.Aborted:
		default:
			m.held = r.Kind
		}
	}
	var v verdict
	var late []verify.Record
	for _, m := range all {
		m.dropRedelivered()
	}
	for _, m := range all {
		switch {
		case m.enqueued == nil && (len(m.copies) > 0 || m.held != ""):
			v.Uncommitted++
		case m.enqueued != nil && m.enqueued.Kind == verify.Committed && len(m.copies) == 0 && m.held == "":
			v.Lost++
		}
		for i, r := range m.copies {
			if m.enqueued != nil && (r.Topic != "t" || r.Keyless && m.enqueued.Key != "") {
				v.Misrouted++
			}
			if i > 0 {
				late = append(late, r)
			}
		}
		if m.overtaken(all) {
			v.Reordered++
		}
	}
	v.Duplicates = len(late)
	v.Unexplained, v.Excess = excuse(late, faults)
	return v
}

// dropRedelivered leaves what the broker handed out again only where it shows that the message arrived.
func (m *known) dropRedelivered() {
	var kept []verify.Record
	for _, r := range m.copies {
		if !r.Redelivered {
			kept = append(kept, r)
		}
	}
	if kept == nil && len(m.copies) > 0 {
		kept = m.copies[:1]
	}
	m.copies = kept
}

func (m *known) overtaken(all map[uuid.UUID]*known) bool {
	if !m.ordered() || len(m.copies) == 0 && (m.held == "" || m.enqueued.Kind == verify.Unknown) {
		return false
	}
	for _, o := range all {
		if !o.ordered() || o.enqueued.Key != m.enqueued.Key || o.enqueued.Order <= m.enqueued.Order || len(o.copies) == 0 {
			continue
		}
		if o.copies[0].Redelivered {
			continue
		}
		if len(m.copies) == 0 {
			return true
		}
		mine, other := m.copies[0], o.copies[0]
		if !mine.Redelivered && mine.Stream == other.Stream && other.Offset < mine.Offset {
			return true
		}
	}
	return false
}

func (m *known) ordered() bool {
	return m.enqueued != nil && m.enqueued.Key != "" && m.enqueued.Order != 0 &&
		m.held != verify.Skipped && m.held != verify.Discarded
}

// excuse tries every way to give copies to faults, and returns how many are left over: outside of all, and beyond the
// bounds.
func excuse(late, faults []verify.Record) (outside, above int) {
	var inside []verify.Record
	for _, r := range late {
		covered := false
		for _, f := range faults {
			covered = covered || !r.At.Before(f.From) && !r.At.After(f.To)
		}
		if covered {
			inside = append(inside, r)
		} else {
			outside++
		}
	}
	left := make([]int, len(faults))
	for i, f := range faults {
		left[i] = f.Bound
	}
	var best func(i int) int
	best = func(i int) int {
		if i == len(inside) {
			return 0
		}
		least := 1 + best(i+1)
		for j, f := range faults {
			if left[j] == 0 || inside[i].At.Before(f.From) || inside[i].At.After(f.To) {
				continue
			}
			left[j]--
			least = min(least, best(i+1))
			left[j]++
		}
		return least
	}
	return outside, best(0)
}
