package subject

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// Writers are how many goroutines may write into a flow at once.
const Writers = 16

// Flow carries each message from a business transaction to the broker as soon as it can.
type Flow interface {
	// Write runs a transaction that writes an order and sees to it that the message is published, calls committed
	// after the commit, and returns when the writer has nothing left to do. Each writer has a number below Writers.
	Write(ctx context.Context, writer int, m load.Message, committed func()) error
	// Settled waits until nothing is left to be published.
	Settled(ctx context.Context) error
	Close() error
}

// The names of those that publish after a commit without an outbox.
const (
	DirectKafka = "direct-kafka"
	DirectAMQP  = "direct-amqp"
)

// Flows are the subjects that can be written to while they publish: ours, and what many do in its place, a transaction
// and then a publish that waits for the broker's word. That one loses a message when the process ends in between.
func Flows() []Spec {
	kafka, rabbit := servers.Kafka, servers.RabbitMQ
	return []Spec{
		{Name: OursKafka, Broker: kafka, Flow: openOurFlow(ourKafka)},
		{Name: DirectKafka, Broker: kafka, Flow: openDirect(newKafkaAtOnce)},
		{Name: OursAMQP, Broker: rabbit, Flow: openOurFlow(ourAMQP)},
		{Name: DirectAMQP, Broker: rabbit, Flow: openDirect(newAMQPEach)},
	}
}

const orderTable = `CREATE TABLE orders (id uuid PRIMARY KEY, customer text NOT NULL, placed timestamptz NOT NULL)`

const orderInsert = `INSERT INTO orders (id, customer, placed) VALUES (?, ?, now())`

// openOrders opens an outbox with a table of orders beside it, and connections enough for all writers.
func openOrders(ctx context.Context, site Site) (*Store, error) {
	s, err := OpenStore(ctx, site)
	if err != nil {
		return nil, err
	}
	s.Pool.SetMaxOpenConns(Writers + servers.Connections)
	s.Pool.SetMaxIdleConns(Writers + servers.Connections)
	if _, err := s.Pool.ExecContext(ctx, orderTable); err != nil {
		return nil, errors.Join(fmt.Errorf("create the orders: %w", err), s.Close())
	}
	return s, nil
}

// writing is an application without a relay in its process.
type writing struct {
	Site
	store *Store
}

// OpenWriting returns a flow that others have to publish.
func OpenWriting(ctx context.Context, site Site) (Flow, error) {
	s, err := openOrders(ctx, site)
	if err != nil {
		return nil, err
	}
	return &writing{Site: site, store: s}, nil
}

// ourFlow is an application with our relay in its process.
type ourFlow struct {
	writing
	publisher closingPublisher
	stop      func() error
}

func openOurFlow(publisher func(Site) (closingPublisher, error)) func(context.Context, Site) (Flow, error) {
	return func(ctx context.Context, site Site) (Flow, error) {
		s, err := openOrders(ctx, site)
		if err != nil {
			return nil, err
		}
		p, err := publisher(site)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the publisher: %w", err), s.Close())
		}
		stop, err := startRelay(ctx, s, p, outbox.RelayConfig{})
		if err != nil {
			return nil, errors.Join(err, p.Close(), s.Close())
		}
		return &ourFlow{writing{site, s}, p, stop}, nil
	}
}

// startRelay returns when the relay has all lanes. What it returns stops the relay.
func startRelay(ctx context.Context, s outbox.Store, p outbox.Publisher, c outbox.RelayConfig) (func() error, error) {
	c.Logger = slog.Default()
	relay, err := outbox.NewRelay(s, p, c)
	if err != nil {
		return nil, fmt.Errorf("make the relay: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(running) }()
	stop := func() error { cancel(); return <-ended }
	all := func() (bool, error) { return relay.Snapshot().Lanes == Lanes, nil }
	if err := until(ctx, all); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the lanes: %w", err), stop())
	}
	return stop, nil
}

func (f *writing) Write(ctx context.Context, _ int, m load.Message, committed func()) error {
	err := f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.Exec(orderInsert, m.ID, m.Key).Error; err != nil {
			return err
		}
		return tx.Enqueue(ctx, outgoing(f.Destination, []load.Message{m})...)
	})
	if err != nil {
		return fmt.Errorf("write an order: %w", err)
	}
	committed()
	return nil
}

func (f *writing) Settled(ctx context.Context) error {
	return until(ctx, func() (empty bool, err error) {
		err = f.store.Pool.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT FROM outbox_messages)`).Scan(&empty)
		return empty, err
	})
}

func (f *writing) Close() error { return f.store.Close() }

func (f *ourFlow) Close() error { return joinClose(f.stop, f.publisher.Close, f.store.Close) }
