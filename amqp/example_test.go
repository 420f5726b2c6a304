package amqp_test

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
)

// A broker that is away is no error of Open: what cannot be handed over is unavailable, and the relay waits for it.
func ExampleOpen() {
	publisher, err := amqp.Open(amqp.Config{URLs: []string{"amqp://guest:guest@127.0.0.1:1/"}}) // nobody listens there
	if err != nil {
		fmt.Println(err)
		return
	}
	results := publisher.Publish(context.Background(), []*outbox.Message{
		{ID: uuid.New(), Topic: "orders", Key: "c-1", Type: "OrderPlaced", Payload: []byte("{}")},
	})
	fmt.Println(results[0].Accepted(), outbox.ClassOf(results[0].Err()))
	fmt.Println(publisher.Close())
	// Output:
	// false unavailable
	// <nil>
}

// Messages go to the exchange named by their topic, under their type as routing key, unless Route says otherwise.
func ExampleConfig() {
	publisher, err := amqp.Open(amqp.Config{
		URLs: []string{"amqps://shop:secret@rabbit-1.example.com/shop", "amqps://shop:secret@rabbit-2.example.com/shop"},
		Route: func(m *outbox.Message) (exchange, routingKey string) {
			return "events", m.Topic + "." + m.Type // one topic exchange for all
		},
		Management: "https://shop:secret@rabbit-1.example.com:15671", // for Check alone
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(publisher.KeyOrdered(), publisher.Close())
	// Output: false <nil>
}
