package watermilladapter_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// TestBothWays sends a Watermill message through our publishers, and what Watermill's own subscriber received once
// more.
func TestBothWays(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, topic string) way{
		"through_our_Kafka_publisher": throughKafka, "through_our_RabbitMQ_publisher": throughRabbitMQ,
	} {
		t.Run("metadata_survives_"+name, func(t *testing.T) {
			t.Parallel()
			topic := testservices.Name("bothways")
			w := open(t, topic)
			direct := watermilladapter.Direct(w.publisher, watermilladapter.DirectConfig{Logger: slog.New(slog.DiscardHandler)})
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			in, err := w.subscriber.Subscribe(ctx, topic)
			if err != nil {
				t.Fatal(err)
			}
			sent := message.NewMessage(uuid.NewString(), []byte(`{"n":1}`))
			sent.Metadata = message.Metadata{
				"correlation_id": "c-1", "name": "shop.OrderPlaced", "tenant": "acme", "version": "3", "traceparent": "00-1-2-00",
				"partition_key": "k", "anything": "else", "empty": "",
			}
			for range 2 {
				if err := direct.Publish(topic, sent); err != nil {
					t.Fatal(err)
				}
				sent.Ack() // not before it is sent again: the subscriber ends the context of what is acked
				got := receive(ctx, t, in)
				checkSame(t, sent, got)
				sent = got
			}
			sent.Ack()
		})
	}
}

func receive(ctx context.Context, t *testing.T, in <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case m := <-in:
		return m
	case <-ctx.Done():
		t.Fatal("nothing was received")
		return nil
	}
}

// checkSame wants all that was sent, but for the key, which is the broker's.
func checkSame(t *testing.T, sent, got *message.Message) {
	t.Helper()
	if got.UUID != sent.UUID || string(got.Payload) != string(sent.Payload) {
		t.Errorf("received %s %q, want %s %q", got.UUID, got.Payload, sent.UUID, sent.Payload)
	}
	for name, want := range sent.Metadata {
		if value, there := got.Metadata[name]; !there && name != "partition_key" || there && value != want {
			t.Errorf("metadata %s is %q, want %q", name, value, want)
		}
	}
	if got.Metadata[outbox.HeaderType] != "shop.OrderPlaced" {
		t.Errorf("metadata type is %q, want the name", got.Metadata[outbox.HeaderType])
	}
}

func throughRabbitMQ(t *testing.T, topic string) way {
	address := testservices.AMQP(t)
	subscriber, err := watermillamqp.NewSubscriber(
		watermillamqp.NewDurablePubSubConfig(address, watermillamqp.GenerateQueueNameTopicName), watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, subscriber.Close)
	removeFromRabbitMQ(t, address, topic)
	publisher, err := amqp.Open(amqp.Config{URLs: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, publisher.Close)
	return way{publisher, subscriber}
}
