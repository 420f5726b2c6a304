package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/cmd/postroom/internal/monitor"
	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// relayProcess is a relay with all that it needs.
type relayProcess struct {
	config      relayconf.Config
	log         *slog.Logger
	brokers     []relayconf.Broker
	db, control *gorm.DB
	monitor     *monitor.Monitor
	store       *gormstore.Store
	relay       *outbox.Relay
}

// newRelayProcess prepares a relay, and does no I/O: what is wrong is the configuration.
func newRelayProcess(c relayconf.Config, log *slog.Logger) (_ *relayProcess, err error) {
	p := &relayProcess{config: c, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if len(c.Transports) == 0 {
		return nil, errors.New("configuration: transports is empty: name at least one, with kafka or amqp")
	}
	if p.brokers, err = c.OpenTransports(log); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if p.db, p.control, err = c.Database.Open(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return p, nil
}

// prepare makes the store and the relay.
func (p *relayProcess) prepare() error {
	config := p.config.StoreConfig(p.log)
	var err error
	if config.Control, err = p.control.DB(); err != nil {
		return err
	}
	if p.store, err = gormstore.Open(p.db, config); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if p.monitor, err = monitor.New(p.config.Database.Name, p.log); err != nil {
		return err
	}
	mux, err := relayconf.Mux(p.brokers, func(b relayconf.Broker) (outbox.Publisher, error) {
		return p.monitor.Publisher(b.Publisher, b.System())
	})
	if err != nil {
		return err
	}
	relay := p.config.RelayConfig(p.log)
	relay.Observer = p.monitor.Observer()
	if p.relay, err = outbox.NewRelay(p.store, mux, relay); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

// run looks at what the relay needs, and relays until ctx ends.
func (p *relayProcess) run(ctx context.Context) (err error) {
	endHTTP, err := p.serveHTTP(ctx)
	if err != nil {
		return err
	}
	defer endHTTP()
	if err := p.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before it had begun
		}
		return err
	}
	defer context.AfterFunc(ctx, func() { p.log.Info("outbox: relay stops when the batches in hand are settled") })()
	if err := p.relay.Run(ctx); err != nil {
		return err
	}
	s := p.relay.Snapshot()
	p.log.Info("outbox: relay stopped", "delivered", s.Delivered, "parked", s.Parked)
	return nil
}

// start looks at the tables and the brokers. A broker that does not answer is no reason not to start: the relay waits
// for it, as it does at any other time.
func (p *relayProcess) start(ctx context.Context) error {
	for _, db := range []*gorm.DB{p.db, p.control} {
		if err := database.Ping(ctx, db); err != nil {
			return err
		}
	}
	if err := p.checkSchema(ctx); err != nil {
		return err
	}
	for _, b := range p.brokers {
		if err := p.checkBroker(ctx, b); err != nil {
			return err
		}
	}
	p.log.Info("outbox: relay starts", "transports", len(p.brokers), "workers", p.config.Relay.Workers)
	return nil
}

func (p *relayProcess) checkSchema(ctx context.Context) error {
	d := p.config.Database
	report, err := gormstore.CheckSchema(ctx, p.db, gormstore.MigrateConfig{Name: d.Name, Schema: d.Schema})
	if errors.Is(err, gormstore.ErrSchema) {
		return fmt.Errorf("%w (`postroom migrate` does)", err)
	}
	if err != nil {
		return err
	}
	return report.Err()
}

func (p *relayProcess) checkBroker(ctx context.Context, b relayconf.Broker) error {
	warnings, err := b.Check(ctx, b.Topics)
	for _, w := range warnings {
		p.log.Warn("outbox: broker needs a look", "transport", b.Name, "warning", w)
	}
	if outbox.ClassOf(err) == outbox.ClassUnavailable {
		p.log.Warn("outbox: broker does not answer, the relay waits for it", "transport", b.Name, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("transport %s: %w", b.Name, err)
	}
	return nil
}

// close ends the connections.
func (p *relayProcess) close() error {
	err := relayconf.CloseAll(p.brokers)
	if p.monitor != nil {
		err = errors.Join(err, p.monitor.Close())
	}
	for _, db := range []*gorm.DB{p.control, p.db} {
		if db != nil {
			err = errors.Join(err, database.Close(db))
		}
	}
	return err
}
