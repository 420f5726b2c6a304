package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
)

// instruments are what is measured. docs/operations/metrics.md says what to make of them; a test holds it against
// them.
type instruments struct {
	// The publisher, by the conventions for messaging clients.
	sent      messagingconv.ClientSentMessages
	operation messagingconv.ClientOperationDuration

	// What a relay does.
	handovers  metric.Int64Counter
	settled    metric.Int64Counter
	uncertain  metric.Int64Counter
	claimsLost metric.Int64Counter
	leasesLost metric.Int64Counter
	claiming   metric.Float64Histogram
	settling   metric.Float64Histogram
	cycling    metric.Float64Histogram
	waking     metric.Float64Histogram

	// How relays stand.
	relays   metric.Int64Observable
	waiting  metric.Int64Observable
	lanes    metric.Int64Observable
	inFlight metric.Int64Observable
	silence  metric.Float64Observable
	policy   metric.Int64Observable

	// What the store holds.
	available      metric.Int64Observable
	backlog        metric.Int64Observable
	byTopic        metric.Int64Observable
	capped         metric.Int64Observable
	oldest         metric.Float64Observable
	oldestOf       metric.Float64Observable
	sessions       metric.Int64Observable
	deadRows       metric.Int64Observable
	oldestSnapshot metric.Float64Observable

	observed []metric.Observable
}

// buckets reach from a claim that finds nothing to a database that hardly answers.
var buckets = metric.WithExplicitBucketBoundaries(
	.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)

// sendBuckets are those of the conventions.
var sendBuckets = metric.WithExplicitBucketBoundaries(
	.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10)

func newInstruments(meter metric.Meter) (*instruments, error) {
	m := &maker{meter: meter}
	i := &instruments{
		handovers:  m.counter("outbox.handovers", "{message}", "Messages handed to the publisher, by outcome."),
		settled:    m.counter("outbox.settled", "{message}", "Messages settled in the store, by verdict."),
		uncertain:  m.counter("outbox.uncertain", "{message}", "Messages accepted by the broker whose settle failed."),
		claimsLost: m.counter("outbox.claims.lost", "{claim}", "Claims that a peer recovered before they were settled."),
		leasesLost: m.counter("outbox.leases.lost", "{session}", "Sessions taken for dead while they held lanes."),
		claiming:   m.histogram("outbox.claim.duration", "Time until the store had answered a claim."),
		settling:   m.histogram("outbox.settle.duration", "Time until a claim was settled, all tries together."),
		cycling:    m.histogram("outbox.cycle.duration", "Time from a claim with messages to the end of its settle."),
		waking:     m.histogram("outbox.wakeup.duration", "Time from the news of a commit to the claim that followed."),

		relays:   m.level("outbox.relays", "{relay}", "Relays of this process, by state."),
		waiting:  m.level("outbox.relays.waiting", "{relay}", "Relays that wait for their store or their publisher."),
		lanes:    m.level("outbox.lanes", "{lane}", "Lanes held by relays of this process."),
		inFlight: m.level("outbox.in_flight", "{message}", "Messages claimed by relays of this process and not settled."),
		silence:  m.seconds("outbox.claim.age", "Time since the last claim that was answered, of the most silent relay."),
		policy:   m.gauge("outbox.relay.policy", "{relay}", "1 for each policy of a relay of this process."),

		available: m.gauge("outbox.backlog.available", "", "1 if the backlog is known, 0 if the store did not tell it."),
		backlog:   m.gauge("outbox.backlog.messages", "{message}", "Messages in the store, by status."),
		byTopic:   m.gauge("outbox.backlog.topic.messages", "{message}", "Messages in the store, by topic and status."),
		capped:    m.gauge("outbox.backlog.capped", "", "1 if there are more messages than were counted."),
		oldest:    m.seconds("outbox.oldest.age", "Age of the oldest message that is due and not delivered."),
		oldestOf:  m.seconds("outbox.backlog.age", "Age of the oldest message, by status."),
		sessions:  m.gauge("outbox.sessions", "{session}", "Relays that live in the eyes of the database, of any process."),
		deadRows:  m.gauge("outbox.dead.rows", "{row}", "Rows of messages that are deleted and not vacuumed."),
		oldestSnapshot: m.seconds("outbox.oldest.snapshot.age",
			"Age of the oldest transaction that keeps PostgreSQL from vacuuming."),
	}
	i.observed = m.observed
	var sent, operation error
	i.sent, sent = messagingconv.NewClientSentMessages(meter)
	i.operation, operation = messagingconv.NewClientOperationDuration(meter, sendBuckets)
	return i, errors.Join(m.err, sent, operation)
}

// maker makes instruments and keeps the errors.
type maker struct {
	meter    metric.Meter
	observed []metric.Observable
	err      error
}

func (m *maker) counter(name, unit, text string) metric.Int64Counter {
	i, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.keep(err)
	return i
}

func (m *maker) histogram(name, text string) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), buckets)
	m.keep(err)
	return i
}

// level is what relays add up to.
func (m *maker) level(name, unit, text string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.keep(err, i)
	return i
}

// gauge is what processes do not add up to: they look at the same thing.
func (m *maker) gauge(name, unit, text string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.keep(err, i)
	return i
}

func (m *maker) seconds(name, text string) metric.Float64Observable {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	m.keep(err, i)
	return i
}

func (m *maker) keep(err error, observed ...metric.Observable) {
	m.err = errors.Join(m.err, err)
	m.observed = append(m.observed, observed...)
}
