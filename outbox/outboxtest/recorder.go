package outboxtest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/postroom/postroom/outbox"
)

// Recorder is a publisher that takes every message and remembers it. The zero Recorder works; it is safe for
// concurrent use. It keeps the order of a key, so a relay hands it whole claims.
type Recorder struct {
	// Refuse decides what becomes of a message: an error refuses it, marked or not with a class of package outbox. Later
	// messages of its key in the same call are not handed over. Defaults to taking every message.
	Refuse func(m *outbox.Message) error

	mu       sync.Mutex
	messages []*outbox.Message
}

var (
	_ outbox.Publisher  = (*Recorder)(nil)
	_ outbox.KeyOrderer = (*Recorder)(nil)
)

// KeyOrdered is true: a key stops at its first refusal.
func (r *Recorder) KeyOrdered() bool { return true }

// Publish remembers copies of what it takes, in the order given.
func (r *Recorder) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	const inOrder = 1
	return outbox.PublishOneByOne(ctx, messages, inOrder, r.take)
}

func (r *Recorder) take(_ context.Context, m *outbox.Message) error {
	if r.Refuse != nil {
		if err := r.Refuse(m); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, clone(m))
	return nil
}

// Messages returns copies of what was taken so far; those of a key are in the order in which they were taken.
func (r *Recorder) Messages() []*outbox.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	messages := make([]*outbox.Message, len(r.messages))
	for i, m := range r.messages {
		messages[i] = clone(m)
	}
	return messages
}

// Reset forgets what was taken.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = nil
}

// RequirePublished fails the test now unless recorder has taken exactly the messages of want. How they are compared,
// [RequireEnqueued] says.
func RequirePublished(t testing.TB, recorder *Recorder, want ...*outbox.Message) {
	t.Helper()
	if diff := compare(want, recorder.Messages()); diff != "" {
		t.Fatalf("published messages (-want +got):\n%s", diff)
	}
}

func clone(m *outbox.Message) *outbox.Message {
	c := *m
	c.Payload = slices.Clone(m.Payload)
	c.Headers = slices.Clone(m.Headers)
	return &c
}
