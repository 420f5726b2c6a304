package servers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/load"
)

const (
	partitions = 4
	patience   = 30 * time.Second // for what a broker does at once unless it is ill
)

type topic struct {
	name    string
	brokers []string
	client  *kgo.Client
}

func newTopic(ctx context.Context, brokers []string) (*topic, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	t := &topic{name: newName(), brokers: brokers, client: client}
	if _, err := kadm.NewClient(client).CreateTopic(ctx, partitions, -1, nil, t.name); err != nil {
		client.Close()
		return nil, fmt.Errorf("create a topic: %w", err)
	}
	return t, nil
}

func (t *topic) Name() string { return t.name }

// Count reads each partition up to the end that it has now. A key has one partition, so its order is kept.
func (t *topic) Count(ctx context.Context, c *load.Checker) error {
	ends, err := kadm.NewClient(t.client).ListEndOffsets(ctx, t.name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("list the ends of %s: %w", t.name, err)
	}
	var left int64
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	consumer, err := kgo.NewClient(kgo.SeedBrokers(t.brokers...), kgo.ConsumeTopics(t.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return fmt.Errorf("open a consumer: %w", err)
	}
	defer consumer.Close()
	for left > 0 {
		fetches, err := poll(ctx, consumer)
		if err != nil {
			return fmt.Errorf("read %s, %d records to go: %w", t.name, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { c.Observe(r.Value); left-- })
	}
	return nil
}

func poll(ctx context.Context, consumer *kgo.Client) (kgo.Fetches, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fetches := consumer.PollFetches(ctx)
	return fetches, errors.Join(ctx.Err(), fetches.Err())
}

func (t *topic) Delete() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer t.client.Close()
	if _, err := kadm.NewClient(t.client).DeleteTopic(ctx, t.name); err != nil {
		return fmt.Errorf("delete topic %s: %w", t.name, err)
	}
	return nil
}
