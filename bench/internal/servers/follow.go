package servers

import (
	"context"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Follow consumes all partitions from their start. The broker answers as soon as it has one record.
func (t *topic) Follow(ctx context.Context, see func(body []byte)) (stop func() error, err error) {
	consumer, err := kgo.NewClient(kgo.SeedBrokers(t.brokers...), kgo.ConsumeTopics(t.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, fmt.Errorf("open a consumer: %w", err)
	}
	following, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for {
			fetches := consumer.PollFetches(following)
			if following.Err() != nil {
				ended <- nil
				return
			}
			if err := fetches.Err(); err != nil {
				ended <- fmt.Errorf("follow %s: %w", t.name, err)
				return
			}
			fetches.EachRecord(func(r *kgo.Record) { see(r.Value) })
		}
	}()
	return func() error {
		cancel()
		defer consumer.Close()
		return <-ended
	}, nil
}

// Follow consumes the queue on a connection of its own.
func (e *exchange) Follow(ctx context.Context, see func(body []byte)) (stop func() error, err error) {
	conn, err := amqp091.Dial(e.address)
	if err != nil {
		return nil, fmt.Errorf("open RabbitMQ: %w", err)
	}
	channel, err := conn.Channel()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a channel: %w", err), conn.Close())
	}
	deliveries, err := channel.ConsumeWithContext(ctx, e.name, "", true, true, false, false, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("consume %s: %w", e.name, err), conn.Close())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for d := range deliveries {
			see(d.Body)
		}
	}()
	return func() error {
		err := conn.Close()
		<-ended
		return err
	}, nil
}
