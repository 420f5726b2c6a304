package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/gormstore"
)

// direct is an application that publishes after its commit, and waits.
type direct struct {
	store  *Store
	client each
}

// each sends one message for one writer and waits for the broker's word.
type each interface {
	SendFor(ctx context.Context, writer int, m load.Message) error
	Close() error
}

func openDirect(open func(Site) (each, error)) func(context.Context, Site) (Flow, error) {
	return func(ctx context.Context, site Site) (Flow, error) {
		s, err := openOrders(ctx, site)
		if err != nil {
			return nil, err
		}
		client, err := open(site)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return &direct{store: s, client: client}, nil
	}
}

func (d *direct) Write(ctx context.Context, writer int, m load.Message, committed func()) error {
	err := d.store.Transaction(ctx, func(tx *gormstore.Tx) error {
		return tx.Exec(orderInsert, m.ID, m.Key).Error
	})
	if err != nil {
		return fmt.Errorf("write an order: %w", err)
	}
	committed()
	return d.client.SendFor(ctx, writer, m)
}

func (d *direct) Settled(context.Context) error { return nil }

func (d *direct) Close() error { return joinClose(d.client.Close, d.store.Close) }

// kafkaAtOnce is one client for all writers, which sends at once.
type kafkaAtOnce struct{ *kafkaSingle }

func newKafkaAtOnce(site Site) (each, error) {
	s, err := openKafkaSingle(site, kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	return kafkaAtOnce{s}, nil
}

// SendFor shares the client.
func (s kafkaAtOnce) SendFor(ctx context.Context, _ int, m load.Message) error {
	return s.SendOne(ctx, m)
}

// amqpEach is a connection for each writer.
type amqpEach struct{ *amqpSingle }

func newAMQPEach(site Site) (each, error) {
	s, err := dialAMQPs(site, Writers)
	if err != nil {
		return nil, err
	}
	return amqpEach{s}, nil
}

// SendFor uses the writer's connection.
func (s amqpEach) SendFor(ctx context.Context, writer int, m load.Message) error {
	return s.senders[writer].Send(ctx, []load.Message{m})
}
