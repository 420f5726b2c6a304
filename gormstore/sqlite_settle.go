package gormstore

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
)

const (
	liteDropClaim = `DELETE FROM {claims} WHERE token = ?`
	liteDeliver   = `DELETE FROM {messages} WHERE id IN (SELECT value FROM json_each(?))`
	liteChange    = `
UPDATE {messages} SET state = ?, attempts = attempts + 1, failures = failures + ?, available_at = {now} + ?,
  uncertain = max(uncertain, ?), last_class = nullif(?, ''), last_error = nullif(?, '')
WHERE id = ?`

	liteLow     = `SELECT min(seq) FROM {messages} WHERE lane = ? AND key = ? AND state IN (2, 3, 4)`
	liteUnblock = `DELETE FROM {blocks} WHERE lane = ? AND key = ?`
	liteBlock   = `INSERT INTO {blocks} (lane, key, seq) VALUES (?, ?, ?)
ON CONFLICT (lane, key) DO UPDATE SET seq = excluded.seq`
)

// settle takes the claim first; without it, nothing changes.
func (l *sqlite) settle(ctx context.Context, pool *sql.DB, s settlement) (did settled, err error) {
	err = l.transact(ctx, pool, func(q querier) error {
		did = settled{}
		if did.claims, err = count(q.ExecContext(ctx, l.sql.dropClaim, s.token.String())); err != nil || did.claims == 0 {
			return err
		}
		if did.changed, err = l.deliver(ctx, q, s); err != nil {
			return err
		}
		for _, c := range s.changes {
			n, err := l.change(ctx, q, c)
			if err != nil {
				return err
			}
			did.changed += n
		}
		return l.reblock(ctx, q, s.keys)
	})
	return did, err
}

func (l *sqlite) deliver(ctx context.Context, q querier, s settlement) (int, error) {
	delivered := jsonArray(s.delivered)
	if s.archive {
		if _, err := q.ExecContext(ctx, l.sql.keep, delivered); err != nil {
			return 0, err
		}
	}
	return count(q.ExecContext(ctx, l.sql.deliver, delivered))
}

func (l *sqlite) change(ctx context.Context, q querier, c change) (int, error) {
	return count(q.ExecContext(ctx, l.sql.change, int(c.state), number(c.failed), c.wait.Microseconds(),
		number(c.uncertain), string(c.class), c.err, c.id.String()))
}

// reblock makes the blocks of keys what their messages say.
func (l *sqlite) reblock(ctx context.Context, q querier, keys []laneKey) error {
	for _, k := range keys {
		var low sql.NullInt64
		if err := q.QueryRowContext(ctx, l.sql.low, k.lane, k.key).Scan(&low); err != nil {
			return err
		}
		text, args := l.sql.free, []any{k.lane, k.key}
		if low.Valid {
			text, args = l.sql.block, append(args, low.Int64)
		}
		if _, err := q.ExecContext(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}

func (l *sqlite) dropClaim(ctx context.Context, q querier, token uuid.UUID) error {
	_, err := q.ExecContext(ctx, l.sql.dropClaim, token.String())
	return err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func count(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
