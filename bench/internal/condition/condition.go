// Package condition makes a database as tired as those of others: with a snapshot or a writer that stays open, or with
// many messages that wait behind a parked one.
package condition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/postroom/postroom/bench/internal/servers"
)

// The conditions of a drain. Clean is the empty word.
const (
	Clean        = ""
	HeldSnapshot = "held snapshot" // a REPEATABLE READ transaction that has read, as a dump is
	HeldWriter   = "held writer"   // a transaction that has written, as a migration or a forgotten session is
	HeldMessages = "held messages" // HeldCount messages of one key behind a parked one
)

// HeldCount is the number of messages that wait under HeldMessages.
const HeldCount = 100_000

// Holder is a subject that can put messages behind a parked one.
type Holder interface {
	Hold(ctx context.Context, n int) error
}

// ErrHolder means that a subject knows no parked messages.
var ErrHolder = errors.New("subject has no held messages")

// Prepare comes before the subject fills its table.
func Prepare(ctx context.Context, name string, subject any) error {
	if name != HeldMessages {
		return nil
	}
	holder, ok := subject.(Holder)
	if !ok {
		return ErrHolder
	}
	return holder.Hold(ctx, HeldCount)
}

// Begin opens what stays open during the drain, and returns what ends it.
func Begin(ctx context.Context, name, database string) (end func() error, err error) {
	switch name {
	case HeldSnapshot:
		return open(ctx, database, sql.LevelRepeatableRead, "SELECT count(*) FROM pg_class")
	case HeldWriter:
		return open(ctx, database, sql.LevelReadCommitted, "CREATE TABLE held_by_a_writer (n integer)")
	case Clean, HeldMessages:
		return func() error { return nil }, nil
	}
	return nil, fmt.Errorf("no condition is called %q", name)
}

func open(ctx context.Context, database string, level sql.IsolationLevel, statement string) (func() error, error) {
	pool, err := servers.OpenPool(database)
	if err != nil {
		return nil, err
	}
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return nil, errors.Join(err, tx.Rollback(), pool.Close())
	}
	return func() error { return errors.Join(tx.Rollback(), pool.Close()) }, nil
}
