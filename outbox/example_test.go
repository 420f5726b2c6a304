package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
)

// From the transaction to the broker. An application has a gormstore.Store and one of the packages kafka and amqp; here
// a store in memory and a function take their places.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	store := memstore.New(memstore.Config{})

	err := store.InTransaction(ctx, func(ctx context.Context) error {
		return store.Enqueue(ctx, &outbox.Message{
			Topic: "orders", Key: "c-1", Type: "OrderPlaced", Payload: []byte(`{"id":1}`),
		})
	})
	if err != nil {
		fmt.Println(err)
	}

	publisher := outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error {
		fmt.Println("published", m.Type, "to", m.Topic, "under", m.Key)
		stop() // an application runs until it is told to stop
		return nil
	})
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ended:", relay.Run(ctx)) // once the batch in hand is settled
	// Output:
	// published OrderPlaced to orders under c-1
	// ended: <nil>
}

// How often and how fast messages are tried, by topic.
func ExampleRelayConfig() {
	config := outbox.RelayConfig{
		Policy: outbox.Policy{MaxAttempts: 10, MaxBackoff: time.Minute},
		Topics: map[string]outbox.Policy{
			"mails":    {MaxAttempts: 3, OnExhausted: outbox.Skip}, // a mail that cannot go out holds up no other
			"payments": {OnExhausted: outbox.Stop},                 // a payment that cannot go out ends the relay
		},
	}
	_, err := outbox.NewRelay(memstore.New(memstore.Config{}), &outboxtest.Recorder{}, config)
	fmt.Println(err)

	config.Workers = 100
	_, err = outbox.NewRelay(memstore.New(memstore.Config{}), &outboxtest.Recorder{}, config)
	field, _ := errors.AsType[*outbox.FieldError](err)
	fmt.Println(field.Field, field.Code, field.Limit)
	// Output:
	// <nil>
	// Workers out_of_range 64
}

// What a publisher knows of a failure decides what becomes of the message.
func ExamplePublisherFunc() {
	answers := map[string]error{
		"taken":       nil,
		"too large":   outbox.Permanent(errors.New("above 1 MiB")),
		"broker away": outbox.Unavailable(errors.New("no connection")),
		"timed out":   outbox.Unknown(errors.New("no answer in 10 s")),
		"refused":     errors.New("not now"),
	}
	publisher := outbox.PublisherFunc(func(_ context.Context, m *outbox.Message) error { return answers[m.Type] })

	for _, kind := range []string{"taken", "too large", "broker away", "timed out", "refused"} {
		result := publisher.Publish(context.Background(), []*outbox.Message{{Topic: "orders", Type: kind}})[0]
		if result.Accepted() {
			fmt.Println(kind, "is delivered")
			continue
		}
		fmt.Println(kind, "is", outbox.ClassOf(result.Err()))
	}
	// Output:
	// taken is delivered
	// too large is permanent
	// broker away is unavailable
	// timed out is unknown
	// refused is refused
}

// One relay for two brokers: a message leaves by the transport that it names.
func ExampleMux() {
	var orders, mails outboxtest.Recorder
	publisher := outbox.Mux{"": &orders, "mail": &mails}

	messages := []*outbox.Message{
		{Topic: "orders", Type: "OrderPlaced"},
		{Topic: "customers", Type: "ConfirmOrder", Transport: "mail"},
	}
	for _, result := range publisher.Publish(context.Background(), messages) {
		fmt.Println(result.Accepted())
	}
	fmt.Println(len(orders.Messages()), len(mails.Messages()))
	// Output:
	// true
	// true
	// 1 1
}

// OrderShipped is an event of a domain that knows nothing of topics.
type OrderShipped struct {
	OrderID string `json:"order_id"`
}

// Events of Go types become messages by what one registry says, wherever they are raised.
func ExampleRegistry() {
	registry, err := outbox.NewRegistry(outbox.Event[OrderShipped]{
		Type: "order.shipped", Version: 2, Topic: "orders", Key: func(e OrderShipped) string { return e.OrderID },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := registry.Message(OrderShipped{OrderID: "o-1"})
	fmt.Println(m.Topic, m.Key, m.Type, m.Version, string(m.Payload), err)

	_, err = registry.Message("not an event")
	fmt.Println(errors.Is(err, outbox.ErrUnregistered))
	// Output:
	// orders o-1 order.shipped 2 {"order_id":"o-1"} <nil>
	// true
}

// After the reason is mended, everything that was parked for it goes out again, each key in order.
func ExampleActOnAll() {
	ctx, store := context.Background(), memstore.New(memstore.Config{})
	broker := &outboxtest.Recorder{Refuse: func(*outbox.Message) error {
		return outbox.Permanent(errors.New("schema of version 3 is not registered"))
	}}
	err := store.InTransaction(ctx, func(ctx context.Context) error {
		return store.Enqueue(ctx, &outbox.Message{Topic: "orders", Key: "c-1", Type: "OrderPlaced"},
			&outbox.Message{Topic: "orders", Key: "c-2", Type: "OrderPlaced"})
	})
	fmt.Println("stored:", err)
	fmt.Println("delivered:", outboxtest.Drain(ctx, store, broker) == nil, len(broker.Messages()))

	broker.Refuse = nil // somebody has registered the schema
	act := outbox.Act{By: "ada@example.com", Reason: "schema registered"}
	n, err := outbox.ActOnAll(ctx, store, outbox.Inspector.Requeue, act,
		outbox.Filter{Status: outbox.StatusParked, Topic: "orders"})
	fmt.Println("requeued:", n, err)
	fmt.Println("delivered:", outboxtest.Drain(ctx, store, broker) == nil, len(broker.Messages()))
	// Output:
	// stored: <nil>
	// delivered: false 0
	// requeued: 2 <nil>
	// delivered: true 2
}
