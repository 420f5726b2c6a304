package dashboard

import (
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

// overview is how things stand, first of all whether somebody has to do something.
type overview struct {
	At       time.Time
	Known    bool // the backlog is
	Findings []finding
	Tiles    []tile
	Charts   []chart
	Topics   []topic
	Capped   bool
}

// finding is something that an operator should know, and where to go.
type finding struct {
	Level string // bad, warn or good
	Text  string
	Path  string // "" for nowhere
	Link  string
}

// tile is one number.
type tile struct {
	Title string
	Value string // "not known" is not zero
	Note  string
	Path  string
	Level string
}

// lateAfter is how long a message may wait before the overview calls it late.
const lateAfter = time.Minute

func (d *Dashboard) overview(v *visit) (page, error) {
	r := d.sampler.read(v.Context())
	o := overview{At: r.at, Known: r.err == nil, Capped: r.backlog.Capped}
	sessions, known := d.live(v)
	o.Findings = d.find(r, sessions, known)
	o.Tiles = tiles(r)
	o.Charts = []chart{ageChart(r), rateChart(r), waitingChart(r)}
	o.Topics = topicsOf(r.backlog)
	return page{"overview", "Overview", o}, nil
}

// live counts the sessions that live, if the store tells.
func (d *Dashboard) live(v *visit) (n int, known bool) {
	if d.store.overseer == nil {
		return 0, false
	}
	sessions, err := d.store.overseer.Sessions(v.Context())
	if err != nil {
		d.config.Logger.WarnContext(v.Context(), "outbox: dashboard does not know the sessions", "error", err)
		return 0, false
	}
	for _, s := range sessions {
		if s.Alive() {
			n++
		}
	}
	return n, true
}

// find tells what is wrong, the worst first.
func (d *Dashboard) find(r reading, sessions int, known bool) []finding {
	var found []finding
	add := func(level, path, link, format string, args ...any) {
		found = append(found, finding{level, fmt.Sprintf(format, args...), path, link})
	}
	if r.err != nil {
		add("bad", "", "", "The backlog is not known: the store does not tell.")
	}
	if !known && d.store.overseer != nil {
		add("bad", "", "", "It is not known whether a relay lives: the store does not tell.")
	}
	if known && sessions == 0 {
		add("bad", "relays", "Relays", "No relay lives. Messages wait until one starts.")
	}
	for _, relay := range d.config.Relays {
		switch s := relay.Snapshot(); {
		case s.State == outbox.StateFailed:
			add("bad", "relays", "Relays", "A relay of this process has ended with an error.")
		case s.State == outbox.StateDegraded && s.PublisherDown:
			add("bad", "relays", "Relays", "A relay of this process waits for its broker.")
		case s.State == outbox.StateDegraded:
			add("bad", "relays", "Relays", "A relay of this process waits for its database.")
		}
	}
	b := r.backlog
	if n := b.Messages(outbox.StatusParked); n > 0 {
		add("bad", "failures", "Failures", "%s parked and need somebody to decide.", are(n, b.Capped))
	}
	if n := b.Messages(outbox.StatusHeld); n > 0 {
		add("warn", "held", "Held keys", "%s held behind others of their key.", are(n, b.Capped))
	}
	if oldest := b.Oldest(outbox.DueStatuses()...); oldest >= lateAfter {
		add("warn", "messages", "Messages", "The oldest message that waits has waited for %s.", formatAge(oldest))
	}
	if n := b.Messages(outbox.StatusPaused); n > 0 {
		add("warn", "pauses", "Pauses", "%s paused.", are(n, b.Capped))
	}
	if len(found) == 0 {
		add("good", "", "", "All is well. Nothing needs you.")
	}
	return found
}

func are(n int, capped bool) string {
	switch {
	case capped:
		return "At least " + plural(n, "message is", "messages are")
	case n == 1:
		return "1 message is"
	}
	return formatNumber(n) + " messages are"
}

func tiles(r reading) []tile {
	b := r.backlog
	of := func(title, status, note, level string, statuses ...outbox.Status) tile {
		t := tile{Title: title, Value: "not known", Note: note}
		if r.err != nil {
			return t
		}
		n := b.Messages(statuses...)
		t.Value = atLeast(n, b.Capped)
		if oldest := b.Oldest(statuses...); oldest > 0 {
			t.Note = "oldest " + formatAge(oldest)
		}
		if status != "" {
			t.Path = "messages?status=" + status
		}
		if n > 0 {
			t.Level = level
		}
		return t
	}
	return []tile{
		of("Waiting", "", "to be delivered now", "", outbox.DueStatuses()...),
		of("In flight", "in_flight", "handed to a broker", "", outbox.StatusInFlight),
		of("Retrying", "retrying", "after a failure", "warn", outbox.StatusRetrying, outbox.StatusSuspect),
		of("Held", "held", "behind their key", "warn", outbox.StatusHeld),
		of("Parked", "parked", "set aside", "bad", outbox.StatusParked),
		of("Scheduled", "scheduled", "for later", "", outbox.StatusScheduled),
	}
}

func ageChart(r reading) chart {
	oldest := pointsOf(r, func(s sample) float64 { return s.oldest.Seconds() })
	return newChart("Oldest message that waits", oldest, r.at, ages)
}

func waitingChart(r reading) chart {
	waiting := pointsOf(r, func(s sample) float64 { return float64(s.waiting) })
	return newChart("Messages that wait", waiting, r.at, numbers)
}

func pointsOf(r reading, value func(sample) float64) []point {
	points := make([]point, len(r.past))
	for i, s := range r.past {
		points[i] = point{s.at, value(s), s.known}
	}
	return points
}

// rateChart is what the relays of this process deliver; of others nobody counts.
func rateChart(r reading) chart {
	var points []point
	for i := 1; i < len(r.past); i++ {
		value, known := rate(r.past[i-1], r.past[i])
		points = append(points, point{r.past[i].at, value, known})
	}
	return newChart("Delivered by this process", points, r.at, rates)
}
