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

// Lanes is the default of gormstore.MigrateConfig.
const Lanes = 64

// Store is the outbox in the schema of a site.
type Store struct {
	*gormstore.Store
	Pool *sql.DB
}

// OpenStore makes the tables, unless they are there, and opens them.
func OpenStore(ctx context.Context, site Site) (*Store, error) {
	pool, err := servers.OpenPool(site.Database)
	if err != nil {
		return nil, err
	}
	return StoreOn(ctx, pool)
}

// StoreOn is OpenStore on a pool, which is the store's from now on.
func StoreOn(ctx context.Context, pool *sql.DB) (*Store, error) {
	s, err := migrated(ctx, pool)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the outbox: %w", err), pool.Close())
	}
	return &Store{Store: s, Pool: pool}, nil
}

func migrated(ctx context.Context, pool *sql.DB) (*gormstore.Store, error) {
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{Lanes: Lanes}); err != nil {
		return nil, err
	}
	return gormstore.Open(db, gormstore.Config{Logger: slog.Default()})
}

// Fill enqueues the workload of site, one transaction for each batch, in order.
func (s *Store) Fill(ctx context.Context, site Site) error {
	for messages, err := range site.Load.Batches(fillBatch) {
		if err != nil {
			return err
		}
		if err := s.put(ctx, site.Destination, messages); err != nil {
			return fmt.Errorf("fill the outbox: %w", err)
		}
	}
	return nil
}

// FillAtOnce enqueues it in one transaction, so that all of it is there at once.
func (s *Store) FillAtOnce(ctx context.Context, site Site) error {
	err := s.Transaction(ctx, func(tx *gormstore.Tx) error {
		for messages, err := range site.Load.Batches(fillBatch) {
			if err != nil {
				return err
			}
			if err := tx.Enqueue(ctx, outgoing(site.Destination, messages)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fill the outbox at once: %w", err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, destination string, messages []load.Message) error {
	return s.Transaction(ctx, func(tx *gormstore.Tx) error {
		return tx.Enqueue(ctx, outgoing(destination, messages)...)
	})
}

// outgoing are messages of a workload, on their way to a topic or an exchange.
func outgoing(destination string, messages []load.Message) []*outbox.Message {
	if destination == "" {
		destination = "nowhere"
	}
	all := make([]*outbox.Message, len(messages))
	for i, m := range messages {
		all[i] = &outbox.Message{
			ID: m.ID, Topic: destination, Key: m.Key, Type: eventType, ContentType: mediaType, Payload: m.Body,
		}
	}
	return all
}

// Close closes the pool.
func (s *Store) Close() error { return s.Pool.Close() }

// joinClose calls all of closers and joins their errors.
func joinClose(closers ...func() error) error {
	var errs []error
	for _, c := range closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}
