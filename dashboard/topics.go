package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postroom/postroom/outbox"
)

// topic is the backlog of one topic, as a row of numbers and a bar.
type topic struct {
	Name      string
	Counts    []int // of the kinds, in their order
	Total     int
	Oldest    time.Duration // of those that wait
	Bar       []segment
	Statement string // for who does not see the bar
}

// kinds are the columns of a backlog.
var kinds = []struct {
	name     string
	statuses []outbox.Status
}{
	{"pending", []outbox.Status{outbox.StatusPending}},
	{"in flight", []outbox.Status{outbox.StatusInFlight}},
	{"retrying", []outbox.Status{outbox.StatusRetrying, outbox.StatusSuspect}},
	{"held", []outbox.Status{outbox.StatusHeld}},
	{"paused", []outbox.Status{outbox.StatusPaused}},
	{"parked", []outbox.Status{outbox.StatusParked, outbox.StatusSkipped}},
	{"scheduled", []outbox.Status{outbox.StatusScheduled}},
}

// Kinds are the names of the columns.
func (overview) Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

type segment struct {
	Kind     string
	X, Width string
}

const barWidth = 100.0

func topicsOf(b outbox.Backlog) []topic {
	byTopic := map[string]outbox.Backlog{}
	most := 1
	for _, c := range b.Counts {
		one := byTopic[c.Topic]
		one.Counts = append(one.Counts, c)
		byTopic[c.Topic] = one
	}
	var topics []topic
	for name, one := range byTopic {
		t := topic{Name: name, Oldest: one.Oldest(outbox.DueStatuses()...)}
		for _, k := range kinds {
			n := one.Messages(k.statuses...)
			t.Counts = append(t.Counts, n)
			t.Total += n
		}
		most = max(most, t.Total)
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b topic) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	for i := range topics {
		topics[i].draw(most)
	}
	return topics
}

// draw makes a bar of the kinds, in proportion to the topic that has most.
func (t *topic) draw(most int) {
	x := 0.0
	t.Statement = t.Name + ": "
	for i, n := range t.Counts {
		if n == 0 {
			continue
		}
		width := max(0.5, barWidth*float64(n)/float64(most)) // or few among many would not be seen
		name := kinds[i].name
		t.Bar = append(t.Bar, segment{name, fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", width)})
		if x > 0 {
			t.Statement += ", "
		}
		x += width
		t.Statement += formatNumber(n) + " " + name
	}
}
