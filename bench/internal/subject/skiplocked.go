package subject

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
)

const skipBatch = 1_000

// skipLocked is the loop that most people write, in its best form: lock a large batch, publish it as one, delete it,
// commit. A transaction is open while the broker is spoken to, and two workers may hold messages of one key.
type skipLocked struct {
	Site
	pool *sql.DB
	open newSender
}

const skipTable = `CREATE TABLE queue (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id uuid NOT NULL, key text NOT NULL, type text NOT NULL,
  payload bytea NOT NULL)`

func openSkipLocked(open newSender) func(context.Context, Site) (Subject, error) {
	return func(ctx context.Context, site Site) (Subject, error) {
		pool, err := servers.OpenPool(site.Database)
		if err != nil {
			return nil, err
		}
		if _, err := pool.ExecContext(ctx, skipTable); err != nil {
			return nil, errors.Join(fmt.Errorf("create the queue: %w", err), pool.Close())
		}
		return &skipLocked{Site: site, pool: pool, open: open}, nil
	}
}

const skipInsert = `INSERT INTO queue (id, key, type, payload)
SELECT u.id, u.key, $4, u.payload
FROM unnest($1::uuid[], $2::text[], $3::bytea[]) WITH ORDINALITY AS u (id, key, payload, nth) ORDER BY u.nth`

func (s *skipLocked) Fill(ctx context.Context) error {
	for messages, err := range s.Load.Batches(fillBatch) {
		if err != nil {
			return err
		}
		ids, keys, bodies := make([][16]byte, len(messages)), make([]string, len(messages)), make([][]byte, len(messages))
		for i, m := range messages {
			ids[i], keys[i], bodies[i] = m.ID, m.Key, m.Body
		}
		if _, err := s.pool.ExecContext(ctx, skipInsert, ids, keys, bodies, eventType); err != nil {
			return fmt.Errorf("fill the queue: %w", err)
		}
	}
	return nil
}

func (s *skipLocked) Drain(ctx context.Context) error {
	s.Progress.Begin()
	defer s.Progress.End()
	return eachWorker(ctx, s.Site, s.open, func(ctx context.Context, _ int, to sender) error {
		for {
			n, err := s.round(ctx, to)
			if err != nil || n == 0 {
				return err
			}
			s.Progress.Add(n)
		}
	})
}

// round is one transaction; it returns the number of messages that it delivered.
func (s *skipLocked) round(ctx context.Context, to sender) (int, error) {
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	numbers, messages, err := lock(ctx, tx)
	if err != nil || len(messages) == 0 {
		return 0, err
	}
	if err := to.Send(ctx, messages); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM queue WHERE seq = ANY ($1::bigint[])`, numbers); err != nil {
		return 0, fmt.Errorf("delete a batch: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	return len(messages), nil
}

const skipRead = `SELECT seq, id, key, payload FROM queue ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED`

func lock(ctx context.Context, tx *sql.Tx) ([]int64, []load.Message, error) {
	rows, err := tx.QueryContext(ctx, skipRead, skipBatch)
	if err != nil {
		return nil, nil, fmt.Errorf("lock a batch: %w", err)
	}
	defer rows.Close()
	numbers, messages := make([]int64, 0, skipBatch), make([]load.Message, 0, skipBatch)
	for rows.Next() {
		var n int64
		var m load.Message
		if err := rows.Scan(&n, &m.ID, &m.Key, &m.Body); err != nil {
			return nil, nil, fmt.Errorf("read a message: %w", err)
		}
		numbers, messages = append(numbers, n), append(messages, m)
	}
	return numbers, messages, rows.Err()
}

func (s *skipLocked) Close() error { return s.pool.Close() }
