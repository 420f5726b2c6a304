package customstore_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	customstore "github.com/postroom/postroom/examples/custom-store"
	"github.com/postroom/postroom/outbox"
)

const lanes = 4 // of all stores on one table

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// record is a broker that remembers the first delivery of each message.
type record struct {
	mu    sync.Mutex
	seen  map[string]bool
	byKey map[string][]int
}

func (b *record) send(_ context.Context, m *outbox.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[m.ID.String()] {
		return nil
	}
	b.seen[m.ID.String()] = true
	n, err := strconv.Atoi(string(m.Payload))
	b.byKey[m.Key] = append(b.byKey[m.Key], n)
	return err
}

func (b *record) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// Relays that come and go share the table, each by a store of its own.
func TestRelays(t *testing.T) {
	t.Parallel()
	t.Run("that_come_and_go_lose_nothing_and_keep_each_key_in_order", func(t *testing.T) {
		t.Parallel()
		const keys, each = 20, 40
		table := customstore.NewMemory()
		b := &record{seen: make(map[string]bool), byKey: make(map[string][]int)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var writers, relays sync.WaitGroup
		for n := range keys {
			writers.Go(func() { write(ctx, t, table, fmt.Sprint("key", n), each, func() {}) })
		}
		for life := range 3 {
			relays.Go(func() { keepRelaying(ctx, t, table, b, time.Duration(life+1)*150*time.Millisecond, keys*each) })
		}
		writers.Wait()
		relays.Wait()
		for key, got := range b.byKey {
			if !slices.IsSorted(got) || len(got) != each {
				t.Errorf("%s: got %v, want 0 to %d", key, got, each-1)
			}
		}
		if len(b.byKey) != keys {
			t.Errorf("got %d keys of %d", len(b.byKey), keys)
		}
	})
}

// write commits n messages of a key one after another.
func write(ctx context.Context, t *testing.T, table customstore.Table, key string, n int, pause func()) {
	store := customstore.New(table, lanes)
	for i := range n {
		pause()
		err := store.InTransaction(ctx, func(ctx context.Context) error {
			return store.Enqueue(ctx, &outbox.Message{
				Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte(strconv.Itoa(i)),
			})
		})
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// keepRelaying runs one relay after another, each for a while, until b has all messages.
func keepRelaying(
	ctx context.Context, t *testing.T, table customstore.Table, b *record, life time.Duration, all int,
) {
	for b.count() < all && ctx.Err() == nil {
		relay, err := outbox.NewRelay(customstore.New(table, lanes), outbox.PublisherFunc(b.send), outbox.RelayConfig{
			Workers: 2, Batch: 16, Lease: 2 * time.Second, Poll: 50 * time.Millisecond,
			Logger: quiet,
		})
		if err != nil {
			t.Error(err)
			return
		}
		while, cancel := context.WithTimeout(ctx, life)
		if err := relay.Run(while); err != nil {
			t.Error(err)
		}
		cancel()
	}
}
