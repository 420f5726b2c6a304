package telemetry

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/postroom/postroom/outbox"
)

// other stands for what has no name of its own, as in the conventions.
const other = "_OTHER"

// The attributes that are ours. No value is an id, a key, a tenant or a relay's label.
const (
	nameKey    = attribute.Key("outbox.name")
	outcomeKey = attribute.Key("outbox.outcome") // accepted, or the class of the error
	verdictKey = attribute.Key("outbox.verdict")
	statusKey  = attribute.Key("outbox.status")
	stateKey   = attribute.Key("outbox.relay.state")
	causeKey   = attribute.Key("outbox.cause")
	policyKey  = attribute.Key("outbox.policy")
)

// verdicts are the words for what becomes of a message.
var verdicts = map[outbox.Verdict]string{
	outbox.Release: "released", outbox.Delivered: "delivered", outbox.Defer: "deferred", outbox.Retry: "retried",
	outbox.ParkKey: "parked", outbox.ParkOne: "skipped",
}

// accepted is the outcome of a message that a broker took.
const accepted = "accepted"

// outcome is what a publisher said of a message, or "" if it was not handed over.
func outcome(taken bool, err error) string {
	switch {
	case taken:
		return accepted
	case err == nil:
		return ""
	}
	return string(outbox.ClassOf(err))
}

// failure is the error.type of a call of the store.
func failure(err error) attribute.KeyValue {
	if errors.Is(err, outbox.ErrClaimLost) {
		return semconv.ErrorTypeKey.String("claim_lost")
	}
	return semconv.ErrorTypeOther
}

// topics bounds how many topics metrics tell apart.
type topics struct {
	mu    sync.Mutex
	limit int
	known map[string]bool
}

func newTopics(limit int) *topics { return &topics{limit: limit, known: make(map[string]bool)} }

// name returns topic, or other for one that came when there were enough.
func (t *topics) name(topic string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known[topic] {
		if len(t.known) >= t.limit {
			return other
		}
		t.known[topic] = true
	}
	return topic
}

// all returns the topics that have names.
func (t *topics) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.known))
}

func (t *topics) attribute(topic string) attribute.KeyValue {
	return semconv.MessagingDestinationName(t.name(topic))
}
