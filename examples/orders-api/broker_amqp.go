package main

import (
	"errors"
	"fmt"

	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
)

// openRabbitMQ declares the exchange, the queue and the binding in every role, because a message that no queue takes
// counts as a failure of that message.
func openRabbitMQ(c config) (_ *broker, err error) {
	b := &broker{name: "RabbitMQ"}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open RabbitMQ: %w", err), b.close())
		}
	}()
	if _, err := amqp091.ParseURI(c.brokerURL); err != nil {
		return nil, errors.New("BROKER_URL is not of the form amqp://user:password@host:port/vhost")
	}
	subscriber, err := watermillamqp.NewSubscriber(topology(c), watermillLogger())
	if err != nil {
		return nil, err
	}
	b.subscriber = subscriber
	b.onClose(subscriber.Close)
	if err := subscriber.SubscribeInitialize(c.topic); err != nil {
		return nil, err
	}
	if c.relay {
		publisher, err := amqp.Open(amqp.Config{URLs: []string{c.brokerURL}})
		if err != nil {
			return nil, err
		}
		b.publisher = publisher
		b.onClose(publisher.Close)
	}
	return b, nil
}

// prefetch keeps the next messages at hand; the consumer handles one at a time all the same.
const prefetch = 50

// topology is a topic exchange, from which a quorum queue takes all messages: one that no queue takes would be parked.
func topology(c config) watermillamqp.Config {
	config := watermillamqp.NewDurablePubSubConfig(c.brokerURL, watermillamqp.GenerateQueueNameConstant(c.consumer()))
	config.Marshaler = textHeaders{}
	config.Exchange.Type = "topic"
	config.Queue.Arguments = amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}
	config.Consume.Qos.PrefetchCount = prefetch
	config.QueueBind.GenerateRoutingKey = func(string) string { return "#" }
	return config
}

// textHeaders reads text headers alone. A quorum queue adds a number to a message that it delivers again, at which
// Watermill's own marshaler fails.
type textHeaders struct{ watermillamqp.DefaultMarshaler }

func (m textHeaders) Unmarshal(d amqp091.Delivery) (*message.Message, error) {
	text := make(amqp091.Table, len(d.Headers))
	for name, value := range d.Headers {
		if s, ok := value.(string); ok {
			text[name] = s
		}
	}
	d.Headers = text
	return m.DefaultMarshaler.Unmarshal(d)
}
