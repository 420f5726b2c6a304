package gormstore

import (
	"context"
	"time"
)

// pgKeep goes into a settle behind d, which deletes what was delivered.
const pgKeep = `,
k AS (INSERT INTO {archive} (` + archived + `) SELECT ` + archived + ` FROM d)`

// pgKeeping makes a settle keep what it deletes, or not.
func pgKeeping(settle string, keep bool) string {
	if keep {
		return replaceAll(settle, "{kept}", archived, "{keep}", pgKeep)
	}
	return replaceAll(settle, "{kept}", "1", "{keep}", "")
}

// pgPurgeArchive steps over rows that somebody else purges.
const pgPurgeArchive = `
DELETE FROM {archive} WHERE ctid = ANY (ARRAY (
  SELECT ctid FROM {archive} WHERE delivered_at < now() - $1::bigint * interval '1 microsecond'
  ORDER BY delivered_at LIMIT $2 FOR UPDATE SKIP LOCKED))`

func (p *postgres) purgeArchive(ctx context.Context, q querier, keep time.Duration, limit int) (int, error) {
	return count(q.ExecContext(ctx, p.sql.purgeArchive, keep.Microseconds(), limit))
}
