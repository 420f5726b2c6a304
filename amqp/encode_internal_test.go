package amqp

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// FuzzEncode: a message is refused, or nothing in it closes the connection or routes it past its exchange: short
// strings are short, and headers are strings under names that RabbitMQ does not act on. Reserved headers are the
// message's own.
func FuzzEncode(f *testing.F) {
	f.Add("orders", "order.placed", "application/json", "x", "1", "orders", "order.placed")
	f.Add("t", strings.Repeat("t", 256), "", "CC", "other", "", "queue")
	f.Add("t", "t", "c", "BCC", "", strings.Repeat("x", 255), strings.Repeat("k", 256))
	f.Add("t", "t", "c", "correlation_id", strings.Repeat("c", 256), "e", "k")
	f.Add("t", "t", "c", "_watermill_message_uuid", "forged", "e", "k")
	f.Fuzz(func(t *testing.T, topic, kind, contentType, name, value, exchange, key string) {
		m := &outbox.Message{
			ID: uuid.New(), Topic: topic, Type: kind, ContentType: contentType, Version: 1,
			Headers: []outbox.Header{{Name: name, Value: value}},
		}
		e := encoder{events: cloudevents.Config{}, now: time.Now()}
		p, err := e.encode(0, m, route{exchange, key})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "encode message: ") {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		for _, short := range []string{
			p.route.exchange, p.route.key, p.publishing.Type, p.publishing.ContentType, p.publishing.CorrelationId,
			p.publishing.MessageId,
		} {
			if len(short) > maxShortString {
				t.Fatalf("let through: %q", short)
			}
		}
		for name, value := range p.publishing.Headers {
			if _, ok := value.(string); !ok || len(name) > maxShortString || name == "CC" || name == "BCC" {
				t.Fatalf("let through: header %q %v", name, value)
			}
		}
		if p.publishing.Headers[outbox.HeaderID] != m.ID.String() || p.publishing.MessageId != m.ID.String() ||
			p.publishing.DeliveryMode != amqp091.Persistent {
			t.Fatalf("sent as %+v", p.publishing)
		}
	})
}
