package subject

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/load"
)

// single hands one message to a broker and waits for its word. Many goroutines use it at once.
type single interface {
	SendOne(ctx context.Context, m load.Message) error
	Close() error
}

// kafkaSingle is one client, which makes batches of what many goroutines send within a millisecond.
type kafkaSingle struct{ kafkaSender }

// linger is how long a client that many goroutines use at once waits for company.
const linger = time.Millisecond

func newKafkaSingle(site Site) (single, error) {
	return openKafkaSingle(site, kgo.ProducerLinger(linger))
}

func openKafkaSingle(site Site, options ...kgo.Opt) (*kafkaSingle, error) {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(site.Kafka...))...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return &kafkaSingle{kafkaSender{client: client, topic: site.Destination}}, nil
}

func (s *kafkaSingle) SendOne(ctx context.Context, m load.Message) error {
	done := make(chan error, 1)
	s.client.Produce(ctx, record(s.topic, m), func(_ *kgo.Record, err error) { done <- err })
	return <-done
}

// amqpSingle is some connections in turn, as many as the relay has.
type amqpSingle struct {
	senders []*amqpSender
	turn    atomic.Uint64
}

func newAMQPSingle(site Site) (single, error) { return dialAMQPs(site, Workers) }

func dialAMQPs(site Site, n int) (*amqpSingle, error) {
	s := &amqpSingle{}
	for range n {
		sender, err := dialAMQP(site, riverWorkers)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.senders = append(s.senders, sender)
	}
	return s, nil
}

func (s *amqpSingle) SendOne(ctx context.Context, m load.Message) error {
	to := s.senders[s.turn.Add(1)%uint64(len(s.senders))]
	key, p := plain(m)
	confirm, err := to.publish(ctx, key, p)
	if err != nil {
		return err
	}
	return to.confirmed(ctx, confirm)
}

func (s *amqpSingle) Close() error {
	var closers []func() error
	for _, sender := range s.senders {
		closers = append(closers, sender.Close)
	}
	return joinClose(closers...)
}
