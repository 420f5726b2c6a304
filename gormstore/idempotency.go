package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// keySQL are the statements about idempotency keys. Their arguments are the same everywhere.
type keySQL struct {
	find     string // sum → owner, fingerprint, answer, if it has not expired
	take     string // sum, owner, fingerprint, µs, µs: insert, or replace what has expired
	complete string // answer, µs, sum, owner
	release  string // sum, owner
	purge    string // rows: delete what expired more than an hour ago
}

// Reserve takes the key for r.Owner unless it is held, see [idempotency.Store]. The lease begins when the key is taken,
// by the database's clock. It returns [ErrInsideTransaction] when ctx carries a transaction of the database, because a
// reservation that others cannot see reserves nothing, and an *outbox.FieldError for a lease below a microsecond.
func (s *Store) Reserve(ctx context.Context, r idempotency.Reservation) (idempotency.Record, error) {
	if r.Lease < time.Microsecond {
		return idempotency.Record{}, &outbox.FieldError{
			Field: "Lease", Code: outbox.CodeOutOfRange, Limit: int(time.Microsecond), Got: int(r.Lease),
			Hint: "choose a time that covers the request",
		}
	}
	if _, ok := s.FromContext(ctx); ok {
		return idempotency.Record{}, ErrInsideTransaction
	}
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return idempotency.Record{}, err
	}
	record, err := s.reserve(ctx, r)
	if err != nil {
		return idempotency.Record{}, fmt.Errorf("reserve an idempotency key: %w", err)
	}
	if record.Owner == r.Owner {
		s.swept(ctx, &s.keys, s.dialect.keySQL().purge)
	}
	return record, nil
}

// reserve looks, and takes what it finds free. Who takes it first in between is found by the next look.
func (s *Store) reserve(ctx context.Context, r idempotency.Reservation) (idempotency.Record, error) {
	for {
		record, err := s.held(ctx, r.Key.Sum())
		if !errors.Is(err, sql.ErrNoRows) {
			return record, err
		}
		taken, err := s.take(ctx, r)
		if err != nil || taken {
			return idempotency.Record{Owner: r.Owner, Fingerprint: r.Fingerprint}, err
		}
	}
}

func (s *Store) held(ctx context.Context, sum [32]byte) (idempotency.Record, error) {
	var record idempotency.Record
	var fingerprint, answer []byte
	row := s.pool.QueryRowContext(ctx, s.dialect.keySQL().find, sum[:])
	if err := row.Scan(&record.Owner, &fingerprint, &answer); err != nil {
		return record, err
	}
	if len(fingerprint) != len(record.Fingerprint) {
		return record, fmt.Errorf("fingerprint of %d bytes in the table", len(fingerprint))
	}
	record.Fingerprint = idempotency.Fingerprint(fingerprint)
	if answer == nil {
		return record, nil
	}
	record.Answer = new(idempotency.Answer)
	return record, record.Answer.UnmarshalBinary(answer)
}

// take waits for an open transaction in which the key was completed, and for nothing else.
func (s *Store) take(ctx context.Context, r idempotency.Reservation) (bool, error) {
	sum, lease := r.Key.Sum(), r.Lease.Microseconds()
	n, err := s.execOnce(ctx, s.dialect.keySQL().take, sum[:], r.Owner.String(), r.Fingerprint[:], lease, lease)
	if err != nil || n == 0 || s.dialect.name() != mysqlName {
		return n > 0, err
	}
	record, err := s.held(ctx, sum) // a driver with clientFoundRows counts a row that is found and left as it was, too
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return record.Owner == r.Owner, err
}

// Complete records the answer in the transaction that ctx carries, see [idempotency.Store]. It returns
// idempotency.ErrLost when c.Owner does not hold the key, an *outbox.FieldError for an answer above 16 MiB, and what
// [Tx.Enqueue] returns for a transaction that is none.
func (s *Store) Complete(ctx context.Context, c idempotency.Completion) error {
	tx, ok := s.FromContext(ctx)
	if !ok {
		return outbox.ErrNoTransaction
	}
	if err := tx.check(); err != nil {
		return err
	}
	answer, err := c.Answer.MarshalBinary()
	if err != nil {
		return err
	}
	if len(answer) > outbox.MaxPayloadCeiling {
		return &outbox.FieldError{
			Field: "Answer", Code: outbox.CodeTooLong, Limit: outbox.MaxPayloadCeiling, Got: len(answer), Hint: "omit its body",
		}
	}
	sum := c.Key.Sum()
	n, err := execIn(ctx, tx.Statement.ConnPool, s.dialect.keySQL().complete,
		answer, c.Keep.Microseconds(), sum[:], c.Owner.String())
	switch {
	case err != nil:
		return fmt.Errorf("complete an idempotency key: %w", transactionError(ctx, err))
	case n == 0:
		return idempotency.ErrLost
	}
	return nil
}

// Release frees the key if owner holds it and has not completed it, see [idempotency.Store].
func (s *Store) Release(ctx context.Context, key idempotency.Key, owner uuid.UUID) error {
	sum := key.Sum()
	if _, err := s.execOnce(ctx, s.dialect.keySQL().release, sum[:], owner.String()); err != nil {
		return fmt.Errorf("release an idempotency key: %w", err)
	}
	return nil
}

// execOnce commits one statement by itself, and returns its number of rows.
func (s *Store) execOnce(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = s.dialect.once(ctx, s.pool, func(q querier) error {
		result, err := q.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}
