package amqp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/publishertest"
)

// TestConformance runs the behaviours of every publisher, with a poison that AMQP cannot encode and with one
// over which the broker closes the channel.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, trust := range map[string]bool{"by_default": false, "with_trusted_queues": true} {
		t.Run(name+"_and_what_AMQP_cannot_encode", func(t *testing.T) {
			t.Parallel()
			publishertest.Run(t, func(t *testing.T) publishertest.Subject {
				return subject(t, amqp.Config{TrustQueues: trust}, func(topic string) *outbox.Message {
					return message(topic, strings.Repeat("x", 300))
				})
			})
		})
		t.Run(name+"_and_what_the_broker_refuses", func(t *testing.T) {
			t.Parallel()
			publishertest.Run(t, func(t *testing.T) publishertest.Subject {
				b := connect(t)
				gone := b.exchange("topic") + "-gone"
				config := amqp.Config{TrustQueues: trust, Window: 30, Route: func(m *outbox.Message) (string, string) {
					if m.Type == "poison" {
						return gone, m.Type
					}
					return m.Topic, m.Type
				}}
				s := subject(t, config, nil)
				s.Poison = func(topic string) *outbox.Message { // its exchange was seen, so it is sent
					must(t, b.ch.ExchangeDeclare(gone, "topic", true, false, false, false, nil))
					s.Publisher.Publish(within(t, time.Minute), []*outbox.Message{message(topic, "poison")})
					must(t, b.ch.ExchangeDelete(gone, false, false))
					return message(topic, "poison")
				}
				return s
			})
		})
	}
}

func subject(t *testing.T, config amqp.Config, poison func(topic string) *outbox.Message) publishertest.Subject {
	b := connect(t)
	queues := map[string]string{}
	return publishertest.Subject{
		Publisher: open(t, config),
		Topic: func(*testing.T) string {
			exchange, queue := b.bound()
			queues[exchange] = queue
			return exchange
		},
		Missing: "amqp-" + uuid.NewString(),
		Poison:  poison,
		Read: func(t *testing.T, topic string, n int) (all []publishertest.Received) {
			eventually(t, 20*time.Second, func() bool {
				for _, d := range b.take(queues[topic]) {
					headers := map[string]string{}
					for name, value := range d.Headers {
						headers[name], _ = value.(string)
					}
					id := uuid.MustParse(headers[outbox.HeaderID])
					all = append(all, publishertest.Received{ID: id, Payload: d.Body, Headers: headers})
				}
				return len(all) >= n
			})
			return all
		},
		LosesNil: true,
	}
}
