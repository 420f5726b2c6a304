package gormstore

import (
	"context"
	"time"
)

const (
	liteKeep = `
INSERT INTO {archive} (delivered_at, ` + archived + `)
SELECT {now}, ` + archived + ` FROM {messages} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq`

	litePurgeArchive = `
DELETE FROM {archive} WHERE rowid IN (
  SELECT rowid FROM {archive} WHERE delivered_at < {now} - ? ORDER BY delivered_at LIMIT ?)`
)

func (l *sqlite) purgeArchive(ctx context.Context, q querier, keep time.Duration, limit int) (int, error) {
	return count(q.ExecContext(ctx, l.sql.purgeArchive, keep.Microseconds(), limit))
}
