package watermilladapter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
	"github.com/postroom/postroom/watermilladapter"
)

// TestSubscriberInARouter runs the whole way: store, relay, router and handlers, all in one process.
func TestSubscriberInARouter(t *testing.T) {
	t.Parallel()

	t.Run("keeps_the_order_of_keys_through_nacks_panics_and_a_late_start", func(t *testing.T) {
		t.Parallel()
		const keys, each = 8, 25
		store := memstore.New(memstore.Config{})
		subscriber := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		log := &handled{left: keys * each, tries: map[string]int{}, orders: map[string][]string{}, all: make(chan struct{})}
		for n := range each {
			for k := range keys {
				put(t, store, event(fmt.Sprint("k-", k), fmt.Sprint(n)))
			}
		}
		run(t, store, subscriber, func(router *message.Router) {
			router.AddConsumerHandler("orders", "orders", subscriber, log.handle)
		})
		within(t, "all messages are handled", log.all)
		var want []string
		for n := range each {
			want = append(want, fmt.Sprint(n))
		}
		for key, got := range log.orders {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", key, diff)
			}
		}
	})

	t.Run("relays_what_a_handler_stores", func(t *testing.T) {
		t.Parallel()
		store := memstore.New(memstore.Config{})
		subscriber := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		paid := make(chan string, 1)
		put(t, store, event("a", "1"))
		run(t, store, subscriber, func(router *message.Router) {
			router.AddConsumerHandler("orders", "orders", subscriber, func(m *message.Message) error {
				return store.InTransaction(m.Context(), func(ctx context.Context) error {
					next := event("a", string(m.Payload)+" paid")
					next.Topic = "payments"
					return store.Enqueue(ctx, next)
				})
			})
			router.AddConsumerHandler("payments", "payments", subscriber, func(m *message.Message) error {
				paid <- string(m.Payload)
				return nil
			})
		})
		if got := within(t, "the second message", paid); got != "1 paid" {
			t.Errorf("got %q", got)
		}
	})

	t.Run("leaves_in_the_store_what_was_not_acknowledged", func(t *testing.T) {
		t.Parallel()
		store := memstore.New(memstore.Config{})
		subscriber := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		refused := make(chan struct{}, 1000)
		put(t, store, event("a", "1"))
		stop := run(t, store, subscriber, func(router *message.Router) {
			router.AddConsumerHandler("orders", "orders", subscriber, func(*message.Message) error {
				refused <- struct{}{}
				return errBroken
			})
		})
		within(t, "a refusal", refused)
		stop()
		if got := store.Pending(); got != 1 {
			t.Errorf("%d messages are stored, want 1", got)
		}
	})
}

// run runs a relay to the subscriber and a router, as an application does, until the test or stop ends them.
func run(
	t *testing.T, store *memstore.Store, subscriber *watermilladapter.Subscriber, add func(*message.Router),
) (stop func()) {
	t.Helper()
	relay, err := outbox.NewRelay(store, subscriber, outbox.RelayConfig{
		Policy: outbox.Policy{MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, MaxAttempts: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: deadline}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	router.AddPlugin(watermilladapter.Plugin(relay, func(err error) { t.Errorf("relay: %v", err) }))
	add(router)
	ended := start(func() error { return router.Run(context.WithoutCancel(t.Context())) })
	stop = sync.OnceFunc(func() {
		if err := errors.Join(router.Close(), within(t, "the router ends", ended)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	within(t, "the router runs", router.Running())
	return stop
}

func put(t *testing.T, store *memstore.Store, messages ...*outbox.Message) {
	t.Helper()
	err := store.InTransaction(t.Context(), func(ctx context.Context) error { return store.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

// handled refuses every third message at first, and panics at some.
type handled struct {
	mu     sync.Mutex
	left   int
	tries  map[string]int
	orders map[string][]string
	all    chan struct{}
}

func (h *handled) handle(m *message.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries[m.UUID]++
	number := len(h.orders[m.Metadata["partition_key"]])
	switch {
	case number%3 == 0 && h.tries[m.UUID] <= 2:
		return errBroken
	case number%10 == 4 && h.tries[m.UUID] == 1:
		panic("boom")
	}
	key := m.Metadata["partition_key"]
	h.orders[key] = append(h.orders[key], string(m.Payload))
	if h.left--; h.left == 0 {
		close(h.all)
	}
	return nil
}

// A test can step through it, too: Drain delivers in the goroutine that the test chooses.
func TestSubscriberDrained(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	subscriber := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
	messages := subscribe(t, t.Context(), subscriber, "orders")
	put(t, store, event("a", "1"), event("a", "2"))
	got := make(chan []string, 1)
	go func() {
		var payloads []string
		for range 2 {
			m := <-messages
			payloads = append(payloads, string(m.Payload))
			m.Ack()
		}
		got <- payloads
	}()
	if err := outboxtest.Drain(t.Context(), store, subscriber); err != nil {
		t.Fatal(err)
	}
	if payloads := within(t, "two messages", got); !slices.Equal(payloads, []string{"1", "2"}) {
		t.Errorf("got %q", payloads)
	}
}
