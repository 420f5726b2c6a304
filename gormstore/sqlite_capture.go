package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// liteBegun takes the write lock without writing anything.
const liteBegun = `UPDATE {meta} SET version = version WHERE 0`

// begun makes a transaction immediate, as _txlock=immediate does: with a deferred one, a function that reads before
// it writes fails as busy when another transaction wrote in between. Before Migrate there is nothing to enqueue.
func (l *sqlite) begun(ctx context.Context, q querier, opts []*sql.TxOptions) error {
	if len(opts) > 0 && opts[0] != nil && opts[0].ReadOnly {
		return nil
	}
	_, err := q.ExecContext(ctx, l.sql.begun)
	if err != nil && strings.Contains(err.Error(), "no such table") {
		return nil
	}
	return err
}

// commit ends the transaction by hand, because a COMMIT that a deferred constraint refuses leaves it open, and
// database/sql would then give the connection back with it: later writes would never be stored.
func (*sqlite) commit(ctx context.Context, tx gorm.Tx) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if _, err := tx.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	_ = tx.Rollback() // only gives the connection back: there is no transaction any more
	return nil
}

// lockKeys has nothing to do: there is one writer at a time.
func (*sqlite) lockKeys(context.Context, querier, []newRow) error { return nil }

const (
	liteInsert = `INSERT INTO {messages} (id, lane, state, available_at, created_at, topic, key, type, version,
  content_type, transport, tenant, headers, payload) VALUES `
	liteInsertRow = `(?, ?, ? > ` + liteNow + `, nullif(?, 0), ` + liteNow + `, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?)`
)

// liteRows of an INSERT stay below SQLite's bound of 32 766 parameters.
const liteRows = 1000

func (l *sqlite) insert(ctx context.Context, q querier, rows []newRow) (int64, error) {
	var stored int64
	for some := range slices.Chunk(rows, liteRows) {
		n, err := l.insertSome(ctx, q, some)
		if err != nil {
			return 0, err
		}
		stored += n
	}
	return stored, nil
}

func (l *sqlite) insertSome(ctx context.Context, q querier, rows []newRow) (int64, error) {
	text := l.sql.insert + liteInsertRow + strings.Repeat(", "+liteInsertRow, len(rows)-1)
	args := make([]any, 0, 13*len(rows))
	for _, r := range rows {
		args = append(args, r.ID.String(), r.lane, r.due(), r.due(), r.Topic, r.Key, r.Type, r.Version, r.ContentType,
			r.Transport, r.Tenant, blob(r.headers), blob(r.Payload))
	}
	return execIn(ctx, q, text, args...)
}

// blob keeps nil apart from empty.
func blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
