package gormstore

import (
	"context"
	"database/sql"
)

const (
	liteFindKey = `SELECT owner, fingerprint, answer FROM {idempotency} WHERE sum = ? AND expires_at > {now}`
	liteTakeKey = `
INSERT INTO {idempotency} AS i (sum, owner, fingerprint, expires_at) VALUES (?, ?, ?, {now} + ?)
ON CONFLICT (sum) DO UPDATE SET owner = excluded.owner, fingerprint = excluded.fingerprint, answer = NULL,
  expires_at = {now} + ?
WHERE i.expires_at <= {now}`
	liteCompleteKey = `
UPDATE {idempotency} SET answer = ?, expires_at = {now} + ? WHERE sum = ? AND owner = ? AND answer IS NULL`
	liteReleaseKey = `DELETE FROM {idempotency} WHERE sum = ? AND owner = ? AND answer IS NULL`
	litePurgeKeys  = `
DELETE FROM {idempotency} WHERE sum IN (
  SELECT sum FROM {idempotency} WHERE expires_at < {now} - 3600 * 1000000 ORDER BY expires_at LIMIT ?)`

	liteClaimHandling = `INSERT INTO {inbox} (handler, id, handled_at) VALUES (?, ?, {now}) ON CONFLICT DO NOTHING`
	litePurgeInbox    = `
DELETE FROM {inbox} WHERE (handler, id) IN (
  SELECT handler, id FROM {inbox} WHERE handled_at < {now} - ? ORDER BY handled_at LIMIT ?)`
)

func (l *sqlite) keySQL() keySQL     { return l.sql.keys }
func (l *sqlite) inboxSQL() inboxSQL { return l.sql.inbox }

// once holds the write lock before the statement looks.
func (l *sqlite) once(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	return l.transact(ctx, pool, fn)
}
