package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/postroom/postroom/outbox"
)

// statuses are those that messages are counted by, also when there is none in one.
var statuses = []outbox.Status{
	outbox.StatusPending, outbox.StatusInFlight, outbox.StatusRetrying, outbox.StatusSuspect, outbox.StatusHeld,
	outbox.StatusScheduled, outbox.StatusPaused, outbox.StatusParked, outbox.StatusSkipped,
}

// kind is what messages have in common that are counted together.
type kind struct {
	topic  string
	status outbox.Status
}

// observeStore tells the largest of what was seen: stores of one name are several ways to look at the same messages.
// What is not known is left out; what is known to be empty is 0.
func (t *Telemetry) observeStore(o metric.Observer, sights []sight) {
	known := false
	for _, s := range sights {
		known = known || s.backlog != nil
	}
	o.ObserveInt64(t.instruments.available, one(known), t.with())
	if known {
		t.observeBacklog(o, sights)
	}
	t.observeAside(o, sights)
}

func (t *Telemetry) observeBacklog(o metric.Observer, sights []sight) {
	i := t.instruments
	var capped bool
	var oldest time.Duration
	counts, ages := make(map[outbox.Status]int), make(map[outbox.Status]time.Duration)
	for _, s := range sights {
		if s.backlog == nil {
			continue
		}
		capped = capped || s.backlog.Capped
		oldest = max(oldest, s.backlog.Oldest(outbox.DueStatuses()...))
		for _, status := range statuses {
			counts[status] = max(counts[status], s.backlog.Messages(status))
			ages[status] = max(ages[status], s.backlog.Oldest(status))
		}
	}
	o.ObserveInt64(i.capped, one(capped), t.with())
	o.ObserveFloat64(i.oldest, oldest.Seconds(), t.with())
	for _, status := range statuses {
		attributes := t.with(statusKey.String(string(status)))
		o.ObserveInt64(i.backlog, int64(counts[status]), attributes)
		if status != outbox.StatusScheduled { // which has no age yet
			o.ObserveFloat64(i.oldestOf, ages[status].Seconds(), attributes)
		}
	}
	for k, n := range t.countTopics(sights) {
		o.ObserveInt64(i.byTopic, int64(n), t.with(t.topics.attribute(k.topic), statusKey.String(string(k.status))))
	}
}

// countTopics counts by topic, with a 0 for pending messages of each topic that there ever were any of, so that a line
// on a chart goes down to the ground.
func (t *Telemetry) countTopics(sights []sight) map[kind]int {
	all := make(map[kind]int)
	for _, s := range sights {
		if s.backlog == nil {
			continue
		}
		own := make(map[kind]int)
		for _, c := range s.backlog.Counts {
			own[kind{t.topics.name(c.Topic), c.Status}] += c.Messages
		}
		for k, n := range own {
			all[k] = max(all[k], n)
		}
	}
	for _, topic := range t.topics.all() {
		all[kind{topic, outbox.StatusPending}] += 0
	}
	return all
}

// observeAside tells what a look has shown beside the backlog, where the store can tell.
func (t *Telemetry) observeAside(o metric.Observer, sights []sight) {
	sessions, dead, snapshot := -1, int64(-1), time.Duration(-1)
	for _, s := range sights {
		if s.sessions != nil {
			sessions = max(sessions, *s.sessions)
		}
		if s.bloat != nil {
			dead = max(dead, s.bloat.deadRows)
			snapshot = max(snapshot, s.bloat.snapshotNow())
		}
	}
	if sessions >= 0 {
		o.ObserveInt64(t.instruments.sessions, int64(sessions), t.with())
	}
	if dead >= 0 {
		o.ObserveInt64(t.instruments.deadRows, dead, t.with())
		o.ObserveFloat64(t.instruments.oldestSnapshot, snapshot.Seconds(), t.with())
	}
}

// snapshotNow lets the age of a snapshot grow until the next look.
func (b *bloat) snapshotNow() time.Duration {
	if b.oldestSnapshot == 0 {
		return 0
	}
	return b.oldestSnapshot + time.Since(b.at)
}
