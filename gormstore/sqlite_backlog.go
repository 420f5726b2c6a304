package gormstore

import (
	"context"
	"database/sql"

	"github.com/postroom/postroom/outbox"
)

// liteTaken is what sessions that live have claimed.
const liteTaken = `
WITH taken (id) AS MATERIALIZED (
  SELECT i.value FROM {claims} c JOIN {sessions} s ON s.id = c.session, json_each(c.ids) i
  WHERE s.stopped_at IS NULL AND s.expires_at > {now}
)`

// liteBacklog reads each place up to the cap and counts what it has read.
const liteBacklog = liteTaken + `,
seen AS MATERIALIZED (
  SELECT 0 AS place, r.* FROM (SELECT {backlog} FROM {messages} m WHERE m.state = 0 ORDER BY m.seq LIMIT ?1) r
  UNION ALL
  SELECT 1, r.* FROM (SELECT {backlog} FROM {messages} m WHERE m.state IN (1, 2) LIMIT ?1) r
  UNION ALL
  SELECT 2, r.* FROM (SELECT {backlog} FROM {messages} m WHERE m.state = 4 LIMIT ?1) r
  UNION ALL
  SELECT 3, r.* FROM (SELECT {backlog} FROM {messages} m WHERE m.state IN (3, 5) LIMIT ?1) r
)
SELECT topic, status, count(*), max(age) FROM seen GROUP BY topic, status
UNION ALL
SELECT NULL, NULL, count(*), 0 FROM (SELECT 1 FROM seen GROUP BY place HAVING count(*) >= ?1)
ORDER BY 1, 2`

func (l *sqlite) backlog(ctx context.Context, pool *sql.DB, _ int) (outbox.Backlog, error) {
	return readBacklog(pool.QueryContext(ctx, l.sql.backlog, backlogCap))
}

func liteBacklogText() string {
	return replaceAll(replaceAll(liteBacklog, "{backlog}", backlogColumns),
		"{claimed}", "m.id IN (SELECT id FROM taken)",
		"{sinceDue}", "{now} - m.available_at", "{sinceCreated}", "{now} - m.created_at")
}
