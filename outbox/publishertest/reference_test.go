package publishertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/publishertest"
)

// reference is the smallest publisher that shows every behaviour: a broker in memory that knows its topics and takes
// no more than a kilobyte. internal/mutants breaks it once for every case.
type reference struct {
	mu  sync.Mutex
	log map[string][]publishertest.Received
}

var (
	errTooLarge = errors.New("too large")
	errNoTopic  = errors.New("no such topic")
)

func (r *reference) KeyOrdered() bool { return true }

func (r *reference) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	results := make([]outbox.Result, len(messages))
	failed := make(map[string]bool)
	for i, m := range messages {
		key := m.Topic + "/" + m.Key
		if ctx.Err() != nil || failed[key] {
			continue
		}
		if err := r.take(m); err != nil {
			results[i] = outbox.Failed(err)
			failed[key] = m.Key != ""
			continue
		}
		results[i] = outbox.Accepted
	}
	return results
}

func (r *reference) take(m *outbox.Message) error {
	if len(m.Payload) > 1024 {
		return outbox.Permanent(errTooLarge)
	}
	log, ok := r.log[m.Topic]
	if !ok {
		return outbox.RetryAfter(1, errNoTopic)
	}
	received := publishertest.Received{ID: m.ID, Payload: slices.Clone(m.Payload), Headers: map[string]string{}}
	for _, h := range outbox.WireHeaders(m) {
		received.Headers[h.Name] = h.Value
	}
	r.log[m.Topic] = append(log, received)
	return nil
}

func (r *reference) topic(*testing.T) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := uuid.NewString()
	r.log[name] = []publishertest.Received{}
	return name
}

func (r *reference) read(t *testing.T, topic string, n int) []publishertest.Received {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.log[topic]) < n {
		t.Fatalf("the topic holds %d messages, want %d", len(r.log[topic]), n)
	}
	return slices.Clone(r.log[topic])
}

func TestReference(t *testing.T) {
	t.Parallel()
	publishertest.Run(t, subject)
}

// subject is the reference with all that the kit asks for.
func subject(*testing.T) publishertest.Subject {
	r := &reference{log: make(map[string][]publishertest.Received)}
	return publishertest.Subject{
		Publisher: r, Topic: r.topic, Missing: "missing", Read: r.read,
		Poison: func(topic string) *outbox.Message {
			return &outbox.Message{ID: uuid.New(), Topic: topic, Type: "Poison", Payload: make([]byte, 1025)}
		},
	}
}
