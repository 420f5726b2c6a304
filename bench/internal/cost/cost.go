// Package cost measures what Enqueue costs inside a business transaction, beside GORM's Create of a row of that size.
package cost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/stats"
	"github.com/postroom/postroom/bench/internal/subject"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// The figures: medians in microseconds.
const (
	Enqueue = "enqueue_us"
	Create  = "create_us"
)

// plainRow is a row of a message's size, as an application would write one.
type plainRow struct {
	ID          uuid.UUID `gorm:"type:uuid;primaryKey"`
	Topic       string
	Key         string
	Type        string
	ContentType string
	Lane        int
	Payload     []byte
	CreatedAt   time.Time
}

// Measure writes each message of w twice, by Enqueue and by Create in turns, each inside a transaction that updates
// a business row first.
func Measure(ctx context.Context, site subject.Site, w load.Workload) (map[string]float64, error) {
	s, err := subject.OpenStore(ctx, site)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	err = s.Transaction(ctx, func(tx *gormstore.Tx) error {
		const orders = `CREATE TABLE orders (id integer PRIMARY KEY, changes integer NOT NULL)`
		return errors.Join(tx.AutoMigrate(&plainRow{}), tx.Exec(orders).Error)
	})
	if err != nil {
		return nil, fmt.Errorf("make the tables: %w", err)
	}
	enqueue, create, err := inTurns(ctx, s, w)
	if err != nil {
		return nil, err
	}
	return map[string]float64{Enqueue: stats.Of(enqueue).Median, Create: stats.Of(create).Median}, nil
}

// inTurns returns the microseconds of each call.
func inTurns(ctx context.Context, s *subject.Store, w load.Workload) (enqueue, create []float64, err error) {
	const topic, kind, media = "orders", "order.placed", "application/json"
	for m, err := range w.All() {
		if err != nil {
			return nil, nil, err
		}
		e, err := timed(ctx, s, func(tx *gormstore.Tx) error {
			return tx.Enqueue(ctx, &outbox.Message{Topic: topic, Key: m.Key, Type: kind, ContentType: media, Payload: m.Body})
		})
		if err != nil {
			return nil, nil, err
		}
		c, err := timed(ctx, s, func(tx *gormstore.Tx) error {
			return tx.Create(&plainRow{
				ID: m.ID, Topic: topic, Key: m.Key, Type: kind, ContentType: media, Payload: m.Body,
			}).Error
		})
		if err != nil {
			return nil, nil, err
		}
		enqueue, create = append(enqueue, e), append(create, c)
	}
	return enqueue, create, nil
}

// timed returns the microseconds that write takes inside a business transaction.
func timed(ctx context.Context, s *subject.Store, write func(tx *gormstore.Tx) error) (took float64, err error) {
	err = s.Transaction(ctx, func(tx *gormstore.Tx) error {
		const business = `INSERT INTO orders VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET changes = orders.changes + 1`
		if err := tx.Exec(business).Error; err != nil {
			return err
		}
		start := time.Now()
		err := write(tx)
		took = float64(time.Since(start).Nanoseconds()) / 1_000
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write a row: %w", err)
	}
	return took, nil
}
