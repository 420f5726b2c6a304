//go:build unix

package fault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/postroom/postroom/chaos/internal/wait"
)

func databaseFaults() []Fault {
	return []Fault{
		{"terminate sessions", 5, terminate},
		{"hold a snapshot", 2, holdSnapshot},
		{"hold a writer", 2, holdWriter},
		{"stop PostgreSQL at once", 2, abort},
	}
}

// onDatabase runs do on a connection of its own, and takes the database's own faults as they come.
func onDatabase(ctx context.Context, s *Scene, do func(ctx context.Context, c *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", s.Postgres.URL()+"&application_name=chaos-operator")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	c, err := db.Conn(ctx)
	if err != nil {
		return errMissed
	}
	defer func() { _ = c.Close() }()
	return do(ctx, c)
}

const sessions = `
SELECT pid FROM pg_stat_activity
WHERE application_name IN ('chaos-relay', 'chaos-writer', 'chaos-shop') ORDER BY backend_start, pid`

// terminate ends some of the sessions of relays, writers and the shop.
func terminate(ctx context.Context, s *Scene, r *rand.Rand) error {
	return onDatabase(ctx, s, func(ctx context.Context, c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, sessions)
		if err != nil {
			return errMissed
		}
		defer func() { _ = rows.Close() }()
		var pids []int
		for rows.Next() {
			var pid int
			if err := rows.Scan(&pid); err != nil {
				return err
			}
			pids = append(pids, pid)
		}
		if err := rows.Err(); err != nil || len(pids) == 0 {
			return errMissed
		}
		r.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
		for _, pid := range pids[:1+r.IntN(len(pids))] {
			if _, err := c.ExecContext(ctx, "SELECT pg_terminate_backend($1)", pid); err != nil {
				return fmt.Errorf("terminate a session: %w", err)
			}
		}
		return nil
	})
}

// holdSnapshot keeps a snapshot, so that no dead row goes.
func holdSnapshot(ctx context.Context, s *Scene, r *rand.Rand) error {
	return onDatabase(ctx, s, func(ctx context.Context, c *sql.Conn) error {
		tx, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "SELECT count(*) FROM outbox_lanes")
		wait.For(ctx, between(r, 5*time.Second, 10*time.Second))
		return errors.Join(err, tx.Rollback())
	})
}

// holdWriter keeps a transaction open that has enqueued messages, while later ones pass.
func holdWriter(ctx context.Context, s *Scene, r *rand.Rand) error {
	return s.Load.Hold(ctx, between(r, 2*time.Second, 7*time.Second))
}

// abort stops the server without a checkpoint, and starts it again.
func abort(ctx context.Context, s *Scene, r *rand.Rand) error {
	err := s.Try(func(tb testing.TB) {
		s.Postgres.Abort(tb)
		wait.For(ctx, between(r, 0, 3*time.Second))
		s.Postgres.Start(tb)
	})
	if err != nil {
		return brokenScene{err}
	}
	return nil
}
