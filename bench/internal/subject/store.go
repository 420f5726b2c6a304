package subject

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const lanes = 64 // the default of gormstore.MigrateConfig

// store is the outbox in the schema of a site.
type store struct {
	*gormstore.Store
	pool *sql.DB
}

func openStore(ctx context.Context, site Site) (*store, error) {
	pool, err := servers.OpenPool(site.Database)
	if err != nil {
		return nil, err
	}
	s, err := migrated(ctx, pool)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the outbox: %w", err), pool.Close())
	}
	return &store{Store: s, pool: pool}, nil
}

func migrated(ctx context.Context, pool *sql.DB) (*gormstore.Store, error) {
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{Lanes: lanes}); err != nil {
		return nil, err
	}
	return gormstore.Open(db, gormstore.Config{Logger: slog.Default()})
}

// fill enqueues the workload of site, one transaction for each batch, in order.
func (s *store) fill(ctx context.Context, site Site) error {
	for messages, err := range site.Load.Batches(fillBatch) {
		if err != nil {
			return err
		}
		if err := s.enqueue(ctx, site.Destination, messages); err != nil {
			return fmt.Errorf("fill the outbox: %w", err)
		}
	}
	return nil
}

func (s *store) enqueue(ctx context.Context, destination string, messages []load.Message) error {
	if destination == "" {
		destination = "nowhere"
	}
	outgoing := make([]*outbox.Message, len(messages))
	for i, m := range messages {
		outgoing[i] = &outbox.Message{
			ID: m.ID, Topic: destination, Key: m.Key, Type: eventType, ContentType: mediaType, Payload: m.Body,
		}
	}
	return s.Transaction(ctx, func(tx *gormstore.Tx) error { return tx.Enqueue(ctx, outgoing...) })
}

func (s *store) close() error { return s.pool.Close() }

// joinClose calls all of closers and joins their errors.
func joinClose(closers ...func() error) error {
	var errs []error
	for _, c := range closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
