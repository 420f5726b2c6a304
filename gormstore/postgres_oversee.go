package gormstore

import (
	"context"
	"database/sql"

	"github.com/postroom/postroom/outbox"
)

// pgFailures reads each place by its index up to the cap: what waits lane by lane, the soonest first, so that what was
// set aside by a pause is in nobody's way.
const pgFailures = pgTaken + `,
seen AS MATERIALIZED (
  SELECT 0 AS place, r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT {failure} FROM {messages} m WHERE m.lane = l.lane AND m.state IN (1, 2) AND m.available_at < {aside}
    ORDER BY m.available_at LIMIT $1) r
  UNION ALL
  SELECT 1, r.* FROM {lanes} l CROSS JOIN LATERAL (
    SELECT {failure} FROM {messages} m WHERE m.lane = l.lane AND m.state = 4 ORDER BY m.available_at LIMIT $1) r
  UNION ALL
  SELECT 2, r.* FROM (
    SELECT {failure} FROM {messages} m WHERE m.state IN (3, 5) ORDER BY m.seq LIMIT $2) r
)` + failureRead + `
UNION ALL
SELECT NULL, '', '', '', '', count(*), NULL FROM (
  SELECT FROM seen GROUP BY place, CASE WHEN place < 2 THEN lane END
  HAVING count(*) >= CASE WHEN place < 2 THEN $1::bigint ELSE $2::bigint END) f`

func newPgOverseeSQL(render func(string) string) overseeSQL {
	sessions := replaceAll(overseeSessions, "{now} - s.started_at", microseconds("clock_timestamp() - s.started_at"),
		"s.expires_at - {now}", microseconds("s.expires_at - clock_timestamp()"), "{claimed}", "cardinality(c.ids)")
	audit := func(before, of, limit string) string {
		return render(replaceAll(overseeAudit, "{at}", microseconds("at"), "{by}", "by", "{key}", "key",
			"{before}", before, "{of}", of, "{limit}", limit))
	}
	return overseeSQL{
		sessions: render(sessions), audit: audit("$1", "", "$2"), auditOf: audit("$1", " AND message = $2", "$3"),
	}
}

func pgFailuresText() string {
	return replaceAll(replaceAll(pgFailures, "{failure}", failureColumns),
		"{claimed}", "m.id IN (SELECT id FROM taken)", "{now}", "now()", "{aside}", pgAsideTime,
		"{sinceCreated}", microseconds("now() - m.created_at"))
}

func (p *postgres) overseeSQL() overseeSQL { return p.sql.oversee }

func (p *postgres) failures(ctx context.Context, pool *sql.DB, lanes int) (f outbox.Failures, err error) {
	err = p.browse(ctx, pool, func(q querier) error {
		f, err = readFailures(q.QueryContext(ctx, p.sql.failures, max(1, failuresCap/lanes), failuresCap))
		return err
	})
	return f, err
}
