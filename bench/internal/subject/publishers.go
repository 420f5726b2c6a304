package subject

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/outbox"
)

// The names of the publishers, which take batches that lie ready in memory.
const (
	KafkaOurs      = "kafka-ours"
	KafkaBare      = "kafka-bare"
	KafkaWatermill = "kafka-watermill"
	AMQPOurs       = "amqp-ours"
	AMQPBare       = "amqp-bare"
	AMQPWatermill  = "amqp-watermill"
)

// Publishers are the subjects that publish alone, in the order in which they take turns: ours, the bare client that it
// is made of, sending the same bytes, and Watermill's. A fast one gets more, so that its start does not count.
func Publishers() []Spec {
	kafka, rabbit := servers.Kafka, servers.RabbitMQ
	return []Spec{
		{Name: KafkaOurs, Broker: kafka, Times: 10, Open: openPublishing(newOurs(ourKafka))},
		{Name: KafkaBare, Broker: kafka, Times: 10, Open: openPublishing(newBareKafka)},
		{Name: KafkaWatermill, Broker: kafka, Share: slow, Open: openPublishing(newWatermillSender(watermillKafka))},
		{Name: AMQPOurs, Broker: rabbit, Open: openPublishing(newOurs(ourAMQP))},
		{Name: AMQPBare, Broker: rabbit, Open: openPublishing(newBareAMQP)},
		{Name: AMQPWatermill, Broker: rabbit, Share: slow, Open: openPublishing(newWatermillSender(watermillAMQP))},
	}
}

// created is the time that every message of these subjects was made at.
var created = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// oursSender is one of our publishers.
type oursSender struct {
	publisher closingPublisher
	topic     string
}

func newOurs(open func(Site) (closingPublisher, error)) newSender {
	return func(site Site) (sender, error) {
		p, err := open(site)
		if err != nil {
			return nil, fmt.Errorf("open the publisher: %w", err)
		}
		return &oursSender{publisher: p, topic: site.Destination}, nil
	}
}

func (s *oursSender) Send(ctx context.Context, messages []load.Message) error {
	all := make([]*outbox.Message, len(messages))
	for i, m := range messages {
		all[i] = &outbox.Message{
			ID: m.ID, Topic: s.topic, Key: m.Key, Type: eventType, Version: 1, ContentType: mediaType,
			Payload: m.Body, CreatedAt: created,
		}
	}
	for _, r := range s.publisher.Publish(ctx, all) {
		if !r.Accepted() {
			return fmt.Errorf("publish %d messages: %w", len(messages), errors.Join(errNotConfirmed, r.Err()))
		}
	}
	return nil
}

func (s *oursSender) Close() error { return s.publisher.Close() }

// bareKafka sends what ours does, through the client alone.
type bareKafka struct{ kafkaSender }

func newBareKafka(site Site) (sender, error) {
	plain, err := newKafkaSender(site)
	if err != nil {
		return nil, err
	}
	return &bareKafka{*plain.(*kafkaSender)}, nil //nolint:errcheck,forcetypeassert // its only kind
}

func (s *bareKafka) Send(ctx context.Context, messages []load.Message) error {
	return s.produce(ctx, messages, func(m load.Message) *kgo.Record {
		r := record(s.topic, m)
		r.Headers = []kgo.RecordHeader{
			{Key: outbox.HeaderID, Value: []byte(m.ID.String())},
			{Key: outbox.HeaderType, Value: []byte(eventType)},
			{Key: outbox.HeaderVersion, Value: []byte("1")},
			{Key: outbox.HeaderContentType, Value: []byte(mediaType)},
			{Key: outbox.HeaderCreatedAt, Value: []byte(created.Format(time.RFC3339Nano))},
		}
		return r
	})
}

// bareAMQP sends what ours does, through the client alone.
type bareAMQP struct{ amqpSender }

func newBareAMQP(site Site) (sender, error) {
	plain, err := dialAMQP(site, batch)
	if err != nil {
		return nil, err
	}
	return &bareAMQP{*plain}, nil
}

func (s *bareAMQP) Send(ctx context.Context, messages []load.Message) error {
	return s.send(ctx, messages, func(m load.Message) (key string, p amqp091.Publishing) {
		id := m.ID.String()
		return eventType, amqp091.Publishing{
			MessageId: id, Type: eventType, Timestamp: time.Now(), ContentType: mediaType,
			DeliveryMode: amqp091.Persistent, Body: m.Body,
			Headers: amqp091.Table{
				outbox.HeaderID: id, outbox.HeaderType: eventType, outbox.HeaderVersion: "1",
				outbox.HeaderContentType: mediaType, outbox.HeaderCreatedAt: created.Format(time.RFC3339Nano),
			},
		}
	})
}

// watermillSender gives Watermill's publisher the whole batch, which it sends one by one.
type watermillSender struct {
	publisher message.Publisher
	topic     string
}

func newWatermillSender(open newWatermill) newSender {
	return func(site Site) (sender, error) {
		p, err := open(site, watermill.NewSlogLogger(slog.Default()))
		if err != nil {
			return nil, fmt.Errorf("open Watermill's publisher: %w", err)
		}
		return &watermillSender{publisher: p, topic: site.Destination}, nil
	}
}

func (s *watermillSender) Send(_ context.Context, messages []load.Message) error {
	all := make([]*message.Message, len(messages))
	for i, m := range messages {
		all[i] = message.NewMessage(m.ID.String(), m.Body)
		all[i].Metadata = message.Metadata{
			keyMetadata: m.Key, outbox.HeaderType: eventType, outbox.HeaderVersion: "1",
			outbox.HeaderContentType: mediaType, outbox.HeaderCreatedAt: created.Format(time.RFC3339Nano),
		}
	}
	if err := s.publisher.Publish(s.topic, all...); err != nil {
		return fmt.Errorf("publish %d messages: %w", len(messages), err)
	}
	return nil
}

func (s *watermillSender) Close() error { return s.publisher.Close() }
