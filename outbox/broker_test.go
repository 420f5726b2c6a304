package outbox_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// broker is a publisher that records what it accepted, and answers as it is told.
type broker struct {
	mu       sync.Mutex
	ordered  bool
	answer   func(m *outbox.Message) outbox.Result // nil accepts
	pause    time.Duration                         // of each call
	accepted []*outbox.Message
	calls    [][]string // payloads
}

func (b *broker) KeyOrdered() bool { return b.ordered }

func (b *broker) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	if b.pause > 0 {
		<-time.After(b.pause) // of a bubble, where time is not real
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	results := make([]outbox.Result, len(messages))
	var call []string
	failed := make(map[string]bool)
	for i, m := range messages {
		call = append(call, string(m.Payload))
		if b.ordered && m.Key != "" && failed[m.Key+m.Topic] {
			continue
		}
		results[i] = outbox.Accepted
		if b.answer != nil {
			results[i] = b.answer(m)
		}
		if results[i].Accepted() {
			b.accepted = append(b.accepted, m)
		} else {
			failed[m.Key+m.Topic] = true
		}
	}
	b.calls = append(b.calls, call)
	return results
}

// got returns the payloads of one key in the order of acceptance, or of all for "".
func (b *broker) got(key string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, m := range b.accepted {
		if key == "" || m.Key == key {
			got = append(got, string(m.Payload))
		}
	}
	return got
}

func message(key, payload string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte(payload)}
}

func enqueue(t *testing.T, s *memstore.Store, messages ...*outbox.Message) {
	t.Helper()
	err := s.InTransaction(t.Context(), func(ctx context.Context) error { return s.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// start runs a relay until the returned function stops it, which returns what Run returned.
func start(t *testing.T, s outbox.Store, p outbox.Publisher, config outbox.RelayConfig) (stop func() error) {
	t.Helper()
	config.Logger = quiet
	relay, err := outbox.NewRelay(s, p, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func wantStopped(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
}

func numbers(n int) []string {
	var ns []string
	for i := range n {
		ns = append(ns, fmt.Sprint(i))
	}
	return ns
}
