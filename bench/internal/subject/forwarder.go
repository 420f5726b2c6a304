package subject

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
)

const (
	forwarderTopic = "outgoing"
	keyMetadata    = "key"
	forwarderBatch = 0     // what its subscriber reads at once by default, 100
	tunedBatch     = 1_000 // what serves it best
	settlePoll     = 10 * time.Millisecond
)

// forwarding is Watermill's outbox: its SQL publisher in a transaction, its SQL subscriber and its forwarder component,
// with their default configurations but for the size of a batch.
type forwarding struct {
	Site
	batch      int
	pool       *sql.DB
	publisher  message.Publisher
	subscriber *watermillsql.Subscriber
	logger     watermill.LoggerAdapter
}

func openForwarder(publisher newWatermill, batch int) func(context.Context, Site) (Subject, error) {
	return func(_ context.Context, site Site) (Subject, error) {
		pool, err := servers.OpenPool(site.Database)
		if err != nil {
			return nil, err
		}
		f := &forwarding{Site: site, batch: batch, pool: pool, logger: watermill.NewSlogLogger(slog.Default())}
		if err := f.open(publisher); err != nil {
			return nil, errors.Join(fmt.Errorf("open the forwarder: %w", err), pool.Close())
		}
		return f, nil
	}
}

func (f *forwarding) open(publisher newWatermill) (err error) {
	f.subscriber, err = watermillsql.NewSubscriber(watermillsql.BeginnerFromStdSQL(f.pool), watermillsql.SubscriberConfig{
		SchemaAdapter:    watermillsql.DefaultPostgreSQLSchema{SubscribeBatchSize: f.batch},
		OffsetsAdapter:   watermillsql.DefaultPostgreSQLOffsetsAdapter{},
		InitializeSchema: true,
	}, f.logger)
	if err != nil {
		return err
	}
	if err = f.subscriber.SubscribeInitialize(forwarderTopic); err != nil {
		return err
	}
	f.publisher, err = publisher(f.Site, f.logger)
	return err
}

// Fill publishes as an application does: enveloped, in a transaction.
func (f *forwarding) Fill(ctx context.Context) error {
	for messages, err := range f.Load.Batches(fillBatch) {
		if err != nil {
			return err
		}
		if err := f.store(ctx, messages); err != nil {
			return fmt.Errorf("fill the forwarder's table: %w", err)
		}
	}
	return nil
}

func (f *forwarding) store(ctx context.Context, messages []load.Message) error {
	tx, err := f.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	into, err := watermillsql.NewPublisher(watermillsql.TxFromStdSQL(tx), watermillsql.PublisherConfig{
		SchemaAdapter: watermillsql.DefaultPostgreSQLSchema{},
	}, f.logger)
	if err != nil {
		return err
	}
	outgoing := make([]*message.Message, len(messages))
	for i, m := range messages {
		outgoing[i] = message.NewMessageWithContext(ctx, m.ID.String(), m.Body)
		outgoing[i].Metadata.Set(keyMetadata, m.Key)
	}
	enveloping := forwarder.NewPublisher(into, forwarder.PublisherConfig{ForwarderTopic: forwarderTopic})
	if err := enveloping.Publish(f.Destination, outgoing...); err != nil {
		return err
	}
	return tx.Commit()
}

func (f *forwarding) Drain(ctx context.Context) error {
	last, err := f.lastOffset(ctx)
	if err != nil {
		return err
	}
	component, err := forwarder.NewForwarder(f.subscriber, counted{f.publisher, f.Progress}, f.logger,
		forwarder.Config{ForwarderTopic: forwarderTopic})
	if err != nil {
		return fmt.Errorf("make the forwarder: %w", err)
	}
	ended := make(chan error, 1)
	f.Progress.Begin()
	go func() { ended <- component.Run(ctx) }()
	err = f.Progress.Wait(ctx, ended)
	if err == nil {
		err = f.settled(ctx, last)
	}
	f.Progress.End()
	return errors.Join(err, component.Close())
}

func (f *forwarding) lastOffset(ctx context.Context) (last int64, err error) {
	err = f.pool.QueryRowContext(ctx, `SELECT max("offset") FROM watermill_`+forwarderTopic).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("read the last offset: %w", err)
	}
	return last, nil
}

// settled waits until the subscriber has recorded that it is through with the last message.
func (f *forwarding) settled(ctx context.Context, last int64) error {
	const read = `SELECT coalesce(max(offset_acked), 0) FROM watermill_offsets_` + forwarderTopic
	return until(ctx, func() (bool, error) {
		var acked int64
		err := f.pool.QueryRowContext(ctx, read).Scan(&acked)
		return acked >= last, err
	})
}

func (f *forwarding) Close() error {
	return joinClose(f.publisher.Close, f.subscriber.Close, f.pool.Close)
}

// counted is a publisher that tells how many messages it has published.
type counted struct {
	message.Publisher
	progress *Progress
}

func (c counted) Publish(topic string, messages ...*message.Message) error {
	if err := c.Publisher.Publish(topic, messages...); err != nil {
		return err
	}
	c.progress.Add(len(messages))
	return nil
}

// until asks again and again, until the answer is yes.
func until(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
