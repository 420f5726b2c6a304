package gormstore

import (
	"context"
	"database/sql"

	"github.com/postroom/postroom/outbox"
)

// pgTaken is what sessions that live have claimed.
const pgTaken = `
WITH taken AS MATERIALIZED (
  SELECT unnest(c.ids) AS id FROM {claims} c JOIN {sessions} s ON s.id = c.session
  WHERE s.stopped_at IS NULL AND s.expires_at > now()
)`

// pgBacklog reads each place by its index up to the cap, lane by lane, and counts what it has read.
const pgBacklog = pgTaken + `,
seen AS MATERIALIZED (
  SELECT 0 AS place, r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT {backlog} FROM {messages} m WHERE m.lane = l.lane AND m.state = 0 ORDER BY m.seq LIMIT $1) r
  UNION ALL
  SELECT 1, r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT {backlog} FROM {messages} m WHERE m.lane = l.lane AND m.state IN (1, 2) ORDER BY m.available_at LIMIT $1) r
  UNION ALL
  SELECT 2, r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT {backlog} FROM {messages} m WHERE m.lane = l.lane AND m.state = 4 ORDER BY m.available_at LIMIT $1) r
  UNION ALL
  SELECT 3, r.* FROM (
    SELECT {backlog} FROM {messages} m WHERE m.state IN (3, 5) ORDER BY m.seq LIMIT $2) r
)
SELECT topic, status, count(*), max(age) FROM seen GROUP BY topic, status
UNION ALL
SELECT NULL, NULL, count(*), 0 FROM (
  SELECT FROM seen GROUP BY place, CASE WHEN place < 3 THEN lane END
  HAVING count(*) >= CASE WHEN place < 3 THEN $1::bigint ELSE $2::bigint END) f
ORDER BY 1, 2`

func (p *postgres) backlog(ctx context.Context, pool *sql.DB, perLane int) (b outbox.Backlog, err error) {
	err = p.browse(ctx, pool, func(q querier) error {
		b, err = readBacklog(q.QueryContext(ctx, p.sql.backlog, perLane, backlogCap))
		return err
	})
	return b, err
}

// browse is a transaction without the just-in-time compiler, which takes seconds over a statement that it guesses to
// be dear, and saves nothing where a bound stops it early.
func (p *postgres) browse(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	return p.transact(ctx, pool, func(q querier) error {
		if _, err := q.ExecContext(ctx, "SET LOCAL jit = off"); err != nil {
			return err
		}
		return fn(q)
	})
}

// pgBacklogText puts the columns in.
func pgBacklogText() string {
	return replaceAll(replaceAll(pgBacklog, "{backlog}", backlogColumns),
		"{claimed}", "m.id IN (SELECT id FROM taken)", "{now}", "now()",
		"{sinceDue}", microseconds("now() - m.available_at"), "{sinceCreated}", microseconds("now() - m.created_at"))
}
