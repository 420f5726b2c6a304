package outboxtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
)

// placeOrder is what an application wants to test.
func placeOrder(ctx context.Context, store store, customer string) error {
	return store.InTransaction(ctx, func(ctx context.Context) error {
		return store.Enqueue(ctx, &outbox.Message{
			Topic: "orders", Type: "OrderPlaced", Key: customer, Payload: []byte(`{"total":3}`),
		})
	})
}

// What a transaction has stored.
func ExampleRequireEnqueued() {
	test := func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		if err := placeOrder(t.Context(), store, "c-1"); err != nil {
			t.Fatal(err)
		}
		outboxtest.RequireEnqueued(t, store, &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: "c-1"})
	}
	_ = test
}

// Relaying at a moment that the test chooses, here to the application's own consumer.
func ExampleDrain() {
	ctx, store := context.Background(), memstore.New(memstore.Config{})
	consumer := outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error {
		fmt.Println("handled", m.Type, m.Key, string(m.Payload))
		return nil
	})
	for _, customer := range []string{"c-1", "c-2"} {
		if err := placeOrder(ctx, store, customer); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("pending", store.Pending())
	if err := outboxtest.Drain(ctx, store, consumer); err != nil {
		fmt.Println(err)
	}
	fmt.Println("pending", store.Pending())
	// Output:
	// pending 2
	// handled OrderPlaced c-1 {"total":3}
	// handled OrderPlaced c-2 {"total":3}
	// pending 0
}

// What a broker would have got, and how the application lives with one that refuses.
func ExampleRecorder() {
	ctx, store := context.Background(), memstore.New(memstore.Config{})
	broker := &outboxtest.Recorder{Refuse: func(*outbox.Message) error {
		return outbox.Unavailable(fmt.Errorf("no connection"))
	}}
	if err := placeOrder(ctx, store, "c-1"); err != nil {
		fmt.Println(err)
	}
	err := outboxtest.Drain(ctx, store, broker)
	fmt.Println("down:", err != nil, len(broker.Messages()))

	broker.Refuse = nil
	err = outboxtest.Drain(ctx, store, broker)
	fmt.Println("up:", err, len(broker.Messages()))
	// Output:
	// down: true 0
	// up: <nil> 1
}
