package watermilladapter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
	"github.com/postroom/postroom/watermilladapter"
)

func event(key, payload string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.New(), Topic: "orders", Type: "OrderPlaced", Version: 1, Key: key, Payload: []byte(payload),
		ContentType: "text/plain", Headers: []outbox.Header{{Name: "x", Value: "1"}},
	}
}

func subscribe(
	t *testing.T, ctx context.Context, s *watermilladapter.Subscriber, topic string,
) <-chan *message.Message {
	t.Helper()
	messages, err := s.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// publishing calls Publish beside the test.
func publishing(
	ctx context.Context, s *watermilladapter.Subscriber, messages ...*outbox.Message,
) <-chan []outbox.Result {
	results := make(chan []outbox.Result, 1)
	go func() { results <- s.Publish(ctx, messages) }()
	return results
}

// verdicts are results as a reader wants to see them.
func verdicts(results []outbox.Result) []string {
	var ws []string
	for _, r := range results {
		switch {
		case r.Accepted():
			ws = append(ws, "accepted")
		case r.Err() == nil:
			ws = append(ws, "not handed over")
		default:
			ws = append(ws, string(outbox.ClassOf(r.Err())))
		}
	}
	return ws
}

func wantVerdicts(t *testing.T, results <-chan []outbox.Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, verdicts(within(t, "Publish returns", results))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestSubscriber(t *testing.T) {
	t.Parallel()

	t.Run("accepts_what_is_acknowledged_and_gives_all_of_it", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{KeyMetadata: "customer"})
		messages := subscribe(t, t.Context(), s, "orders")
		m := event("c-1", "payload")
		results := publishing(t.Context(), s, m)
		got := within(t, "a message", messages)
		want := message.Metadata{
			"name": "OrderPlaced", "type": "OrderPlaced", "version": "1", "content-type": "text/plain", "x": "1",
			"customer": "c-1",
		}
		if diff := cmp.Diff(want, got.Metadata); diff != "" || got.UUID != m.ID.String() || string(got.Payload) != "payload" {
			t.Errorf("got %s %q, metadata (-want +got):\n%s", got.UUID, got.Payload, diff)
		}
		got.Payload[0] = 'P' // it is the handler's own
		got.Ack()
		wantVerdicts(t, results, "accepted")
		if string(m.Payload) != "payload" {
			t.Error("the payload is shared")
		}
		within(t, "the message's context ends", got.Context().Done())
	})

	t.Run("takes_a_nack_for_a_refusal_and_stops_the_key", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"), event("a", "2"), event("b", "1"))
		for range 2 {
			if m := within(t, "a message", messages); m.Metadata["partition_key"] == "a" {
				m.Nack()
			} else {
				m.Ack()
			}
		}
		wantVerdicts(t, results, "refused", "not handed over", "accepted")
	})

	t.Run("waits_for_one_message_of_a_key_before_it_offers_the_next", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"), event("a", "2"))
		first := within(t, "the first message", messages)
		select {
		case m := <-messages:
			t.Errorf("got %q before the first was acknowledged", m.Payload)
		case <-time.After(moment):
		}
		first.Ack()
		within(t, "the second message", messages).Ack()
		wantVerdicts(t, results, "accepted", "accepted")
	})

	t.Run("delivers_to_each_subscription_of_the_topic", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		one, two := subscribe(t, t.Context(), s, "orders"), subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		first := within(t, "the first copy", one)
		first.Ack()
		second := within(t, "the second copy", two)
		if first == second {
			t.Error("the subscriptions share a message")
		}
		second.Nack()
		wantVerdicts(t, results, "refused")
	})

	t.Run("keeps_messages_of_a_topic_that_nobody_reads", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		subscribe(t, t.Context(), s, "other")
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1"), event("a", "2")), "retry_after", "not handed over")
	})

	t.Run("does_not_wait_for_ever_for_a_handler_to_take_a_message", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: moment})
		subscribe(t, t.Context(), s, "orders")
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1")), "retry_after")
	})
}

func TestSubscriberLateAnswer(t *testing.T) {
	t.Parallel()

	// late returns a subscriber and a message that its handler has not answered in time.
	late := func(t *testing.T) (*watermilladapter.Subscriber, *outbox.Message, <-chan *message.Message, *message.Message) {
		t.Helper()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: moment, Concurrency: 1})
		messages := subscribe(t, t.Context(), s, "orders")
		m := event("a", "1")
		results := publishing(t.Context(), s, m)
		taken := within(t, "a message", messages)
		wantVerdicts(t, results, "unknown")
		within(t, "the message's context ends", taken.Context().Done())
		return s, m, messages, taken
	}

	t.Run("counts_when_the_message_comes_again_and_makes_no_second_copy", func(t *testing.T) {
		t.Parallel()
		s, m, messages, taken := late(t)
		wantVerdicts(t, publishing(t.Context(), s, m), "unknown")
		taken.Ack()
		wantVerdicts(t, publishing(t.Context(), s, m), "accepted")
		select {
		case <-messages:
			t.Error("got a second copy")
		default:
		}
	})

	t.Run("of_no_makes_a_new_copy", func(t *testing.T) {
		t.Parallel()
		s, m, messages, taken := late(t)
		taken.Nack()
		wantVerdicts(t, publishing(t.Context(), s, m), "refused")
		results := publishing(t.Context(), s, m)
		within(t, "a new copy", messages).Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("is_not_waited_for_once_its_subscription_has_ended", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: time.Minute, Concurrency: 1})
		ctx, end := context.WithCancel(t.Context())
		messages := subscribe(t, ctx, s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		within(t, "a message", messages) // and its reader goes without an answer
		end()
		wantVerdicts(t, results, "unknown")
		messages = subscribe(t, t.Context(), s, "orders")
		results = publishing(t.Context(), s, event("b", "1"))
		within(t, "another message", messages).Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("holds_back_others_when_too_many_are_missing", func(t *testing.T) {
		t.Parallel()
		s, _, messages, taken := late(t)
		held := within(t, "Publish returns", publishing(t.Context(), s, event("b", "1")))[0].Err()
		if outbox.ClassOf(held) != outbox.ClassRetryAfter || !strings.Contains(held.Error(), "still with their handlers") {
			t.Errorf("got %v", held)
		}
		taken.Ack()
		results := publishing(t.Context(), s, event("b", "1"))
		within(t, "a message", messages).Ack()
		wantVerdicts(t, results, "accepted")
	})
}

func TestSubscriberEnd(t *testing.T) {
	t.Parallel()

	wantClosed := func(t *testing.T, messages <-chan *message.Message) {
		t.Helper()
		if m := within(t, "the messages end", messages); m != nil {
			t.Errorf("got %s", m.UUID)
		}
	}

	t.Run("ends_a_subscription_with_its_context_and_leaves_the_others", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		ending, staying := subscribe(t, ctx, s, "orders"), subscribe(t, t.Context(), s, "orders")
		cancel()
		wantClosed(t, ending)
		results := publishing(t.Context(), s, event("a", "1"))
		within(t, "a message", staying).Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("withdraws_a_message_that_no_handler_has_taken", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, messages)
		switch got := verdicts(within(t, "Publish returns", results))[0]; got {
		case "retry_after", "unavailable": // taken back, or never offered
		default:
			t.Errorf("got %s", got)
		}
	})

	t.Run("still_hears_a_handler_that_is_at_work", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		m := within(t, "a message", messages)
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, messages)
		m.Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("gives_up_a_handler_soon_after_the_relay_has_to_stop", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		ctx, stop := context.WithCancel(t.Context())
		results := publishing(ctx, s, event("a", "1"), event("a", "2"))
		within(t, "a message", messages)
		stop()
		wantVerdicts(t, results, "unknown", "not handed over")
	})

	t.Run("takes_back_an_offer_when_the_relay_has_to_stop", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		subscribe(t, t.Context(), s, "orders")
		ctx, stop := context.WithTimeout(t.Context(), moment)
		defer stop()
		wantVerdicts(t, publishing(ctx, s, event("a", "1")), "unavailable")
	})

	t.Run("refuses_everything_once_it_is_closed", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Subscribe(t.Context(), "orders"); err == nil {
			t.Error("a subscription began")
		}
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1")), "unavailable")
	})
}

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
