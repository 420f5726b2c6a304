package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// sponge accepts everything at once, and says when it has had enough.
type sponge struct {
	left    atomic.Int64
	full    chan struct{}
	ordered bool
}

func (s *sponge) KeyOrdered() bool { return s.ordered }

func (s *sponge) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	for i := range results {
		results[i] = outbox.Accepted
	}
	if s.left.Add(-int64(len(messages))) <= 0 {
		close(s.full)
	}
	return results
}

// BenchmarkRelay is what relay and in-memory store cost for each message: claim, waves, judgement, settle.
func BenchmarkRelay(b *testing.B) {
	for _, ordered := range []bool{true, false} {
		b.Run(fmt.Sprintf("key_ordered=%t", ordered), func(b *testing.B) {
			store := memstore.New(memstore.Config{})
			p := &sponge{full: make(chan struct{}), ordered: ordered}
			p.left.Store(int64(b.N))
			fill(b, store, b.N)
			relay, err := outbox.NewRelay(store, p, outbox.RelayConfig{Logger: quiet})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			b.ReportAllocs()
			b.ResetTimer()
			go func() { done <- relay.Run(ctx) }()
			<-p.full
			b.StopTimer()
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkPrepare is what a message costs before it reaches a store: checks, its id, a copy.
func BenchmarkPrepare(b *testing.B) {
	m := message("key", strings.Repeat("x", 300))
	m.Headers = []outbox.Header{{Name: "tenant-region", Value: "eu-west-1"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := outbox.Prepare(b.Context(), outbox.EnqueueConfig{}, m); err != nil {
			b.Fatal(err)
		}
	}
}

// fill commits n messages of a thousand keys.
func fill(b *testing.B, store *memstore.Store, n int) {
	b.Helper()
	const batch = 1000
	for start := 0; start < n; start += batch {
		err := store.InTransaction(b.Context(), func(ctx context.Context) error {
			var ms []*outbox.Message
			for i := range min(batch, n-start) {
				ms = append(ms, message(fmt.Sprint("key", i), "three hundred bytes of payload would not change this"))
			}
			return store.Enqueue(ctx, ms...)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
