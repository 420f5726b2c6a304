package subject

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// ours is the relay as its defaults make it: four workers, batches of 500.
type ours struct {
	Site
	mode      outbox.Mode
	store     *Store
	publisher closingPublisher
}

type closingPublisher interface {
	outbox.Publisher
	Close() error
}

func ourKafka(site Site) (closingPublisher, error) {
	return kafka.Open(kafka.Config{Brokers: site.Kafka, Logger: slog.Default()})
}

func ourAMQP(site Site) (closingPublisher, error) {
	return amqp.Open(amqp.Config{URLs: []string{site.AMQP}, Logger: slog.Default()})
}

func openOurs(
	publisher func(Site) (closingPublisher, error), mode outbox.Mode,
) func(context.Context, Site) (Subject, error) {
	return func(ctx context.Context, site Site) (Subject, error) {
		s, err := OpenStore(ctx, site)
		if err != nil {
			return nil, err
		}
		p, err := publisher(site)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the publisher: %w", err), s.Close())
		}
		return &ours{Site: site, mode: mode, store: s, publisher: p}, nil
	}
}

func (o *ours) Fill(ctx context.Context) error { return o.store.Fill(ctx, o.Site) }

func (o *ours) Drain(ctx context.Context) error {
	relay, err := outbox.NewRelay(counting{o.store, o.Progress.Add}, o.publisher,
		outbox.RelayConfig{Mode: o.mode, Logger: slog.Default()})
	if err != nil {
		return fmt.Errorf("make the relay: %w", err)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	o.Progress.Begin()
	go func() { ended <- relay.Run(running) }()
	if err := o.Progress.Wait(ctx, ended); err != nil {
		return err
	}
	o.Progress.End()
	stop()
	if err := <-ended; err != nil {
		return fmt.Errorf("stop the relay: %w", err)
	}
	return nil
}

func (o *ours) Close() error { return joinClose(o.publisher.Close, o.store.Close) }

// counting is the store, which tells what it has settled. All of its other methods are the store's own.
type counting struct {
	*Store
	settled func(n int)
}

// Settle counts what the relay found delivered.
func (c counting) Settle(ctx context.Context, claim outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	n, err := c.Store.Settle(ctx, claim, outcomes)
	if err == nil {
		c.settled(delivered(outcomes))
	}
	return n, err
}

func delivered(outcomes []outbox.Outcome) int {
	n := 0
	for _, o := range outcomes {
		if o.Verdict == outbox.Delivered {
			n++
		}
	}
	return n
}
