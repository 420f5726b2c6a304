package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/load"
)

// kafkaSender is a client of its own, acks from all replicas and idempotent as that client is by default.
type kafkaSender struct {
	client *kgo.Client
	topic  string
}

func newKafkaSender(site Site) (sender, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(site.Kafka...), kgo.ManualFlushing(), kgo.ProducerLinger(0))
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return &kafkaSender{client: client, topic: site.Destination}, nil
}

// Send produces a batch and flushes it.
func (s *kafkaSender) Send(ctx context.Context, messages []load.Message) error {
	return s.produce(ctx, messages, func(m load.Message) *kgo.Record { return record(s.topic, m) })
}

func (s *kafkaSender) produce(
	ctx context.Context, messages []load.Message, record func(load.Message) *kgo.Record,
) error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		s.client.Produce(ctx, record(m), func(_ *kgo.Record, err error) { errs[i] = err })
	}
	if err := errors.Join(s.client.Flush(ctx), errors.Join(errs...)); err != nil {
		return fmt.Errorf("produce %d records: %w", len(messages), err)
	}
	return nil
}

func (s *kafkaSender) Close() error {
	s.client.Close()
	return nil
}

func record(topic string, m load.Message) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte(m.Key), Value: m.Body}
}
