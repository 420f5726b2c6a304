package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Delivery is a message in the archive, without what was in it.
type Delivery struct {
	ID          uuid.UUID
	Topic, Key  string
	Number      int64 // its place in the order of its key
	Attempts    int   // hand-overs before the one that was accepted
	Scheduled   bool  // it had a time to wait for, by the application or, if Attempts is above 0, after a failure
	CreatedAt   time.Time
	DeliveredAt time.Time
}

// The statements are written once for all databases. In braces stands what differs; instants are microseconds.
const (
	deliveries = `
SELECT a.id, a.topic, coalesce(a.key, ''), a.seq, a.attempts, a.available_at IS NOT NULL, {created}, {delivered}
FROM {archive} a `
	deliveredText = deliveries + "WHERE a.topic = $1 AND a.delivered_at >= {now} - {within} ORDER BY a.delivered_at"
	deliveryText  = deliveries + "WHERE a.id = {id} ORDER BY a.delivered_at DESC LIMIT 1"
	nowText       = "SELECT {clock}"
)

// Delivery reads what the archive has of a message, by an index; false is nothing. Of an id that was stored again after
// its delivery, which nothing forbids, it is the latest. It needs [Config.Archive], in the relays.
func (s *Store) Delivery(ctx context.Context, id uuid.UUID) (Delivery, bool, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return Delivery{}, false, err
	}
	d, err := readDelivery(s.pool.QueryRowContext(ctx, s.dialect.archiveSQL(deliveryText), id.String()))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Delivery{}, false, nil
	case err != nil:
		return Delivery{}, false, fmt.Errorf("look into the archive: %w", err)
	}
	return d, true, nil
}

// Delivered reads what the archive has of a topic, delivered within the given time until now, in the order of delivery.
// It needs [Config.Archive], in the relays; without it there is nothing. It is one statement, which goes on for as long
// as the caller reads; an error is the last that comes.
func (s *Store) Delivered(ctx context.Context, topic string, within time.Duration) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		if err := s.readDelivered(ctx, topic, within, func(d Delivery) bool { return yield(d, nil) }); err != nil {
			yield(Delivery{}, fmt.Errorf("read the archive: %w", err))
		}
	}
}

// readDelivered ends without an error when next does not want any more.
func (s *Store) readDelivered(ctx context.Context, topic string, within time.Duration, next func(Delivery) bool) error {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return err
	}
	rows, err := s.pool.QueryContext(ctx, s.dialect.archiveSQL(deliveredText), topic, within.Microseconds())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		d, err := readDelivery(rows)
		if err != nil {
			return err
		}
		if !next(d) {
			return nil
		}
	}
	return rows.Err()
}

func readDelivery(row interface{ Scan(into ...any) error }) (Delivery, error) {
	var d Delivery
	var created, delivered int64
	err := row.Scan(&d.ID, &d.Topic, &d.Key, &d.Number, &d.Attempts, &d.Scheduled, &created, &delivered)
	d.CreatedAt, d.DeliveredAt = time.UnixMicro(created).UTC(), time.UnixMicro(delivered).UTC()
	return d, err
}

// Now returns the time by the database's clock, which is the one that decides.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var micros int64
	if err := s.pool.QueryRowContext(ctx, s.dialect.archiveSQL(nowText)).Scan(&micros); err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return time.UnixMicro(micros).UTC(), nil
}

func (p *postgres) archiveSQL(text string) string {
	return p.names.render(replaceAll(text, "{created}", microseconds("a.created_at"),
		"{delivered}", microseconds("a.delivered_at"), "{clock}", microseconds("clock_timestamp()"),
		"{now}", "now()", "{within}", "$2::bigint * interval '1 microsecond'", "{id}", "$1"))
}

func (m *mysql) archiveSQL(text string) string {
	return m.text(ownMicroseconds(replaceAll(text, "{id}", "UNHEX(REPLACE(?, '-', ''))")))
}

func (l *sqlite) archiveSQL(text string) string {
	return l.names.render(replaceAll(ownMicroseconds(text), "{now}", liteNow, "{id}", "?"))
}

// ownMicroseconds is for databases that store instants as what is asked for.
func ownMicroseconds(text string) string {
	return replaceAll(text, "{created}", "a.created_at", "{delivered}", "a.delivered_at", "{clock}", "{now}",
		"$1", "?", "{within}", "?")
}
