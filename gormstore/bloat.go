package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Bloat tells how much of the messages' table is waste: the rows that are deleted and that PostgreSQL has not cleaned
// up, as its statistics count them, and the age of the oldest transaction that keeps it from doing so, 0 if there is
// none. Transactions of other users are seen by members of pg_read_all_stats alone. On other databases it returns
// errors.ErrUnsupported.
func (s *Store) Bloat(ctx context.Context) (deadRows int64, oldestSnapshot time.Duration, err error) {
	p, ok := s.dialect.(*postgres)
	if !ok {
		return 0, 0, fmt.Errorf("gormstore: bloat of %s: %w", s.dialect.name(), errors.ErrUnsupported)
	}
	if deadRows, oldestSnapshot, err = p.bloat(ctx, s.pool); err != nil {
		return 0, 0, fmt.Errorf("look for bloat: %w", err)
	}
	return deadRows, oldestSnapshot, nil
}

// pgBloat leaves out its own transaction, and vacuum, which holds nobody up. A prepared transaction holds a snapshot
// as well, and belongs to no backend.
const pgBloat = `
SELECT coalesce(pg_stat_get_dead_tuples({table}::regclass), 0),
  (extract(epoch FROM coalesce(max(clock_timestamp() - since), interval '0')) * 1000000)::bigint
FROM (
  SELECT xact_start FROM pg_stat_activity
  WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
    AND query NOT LIKE 'autovacuum:%'
  UNION ALL
  SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()
) s (since)`

func (p *postgres) bloat(ctx context.Context, pool *sql.DB) (deadRows int64, oldestSnapshot time.Duration, err error) {
	var micros int64
	query := replaceAll(pgBloat, "{table}", literal(p.names.table("messages")))
	err = pool.QueryRowContext(ctx, query).Scan(&deadRows, &micros)
	return deadRows, time.Duration(micros) * time.Microsecond, err
}
