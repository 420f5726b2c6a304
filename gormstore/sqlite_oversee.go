package gormstore

import (
	"context"
	"database/sql"

	"github.com/postroom/postroom/outbox"
)

// liteFailures reads each place up to the cap.
const liteFailures = liteTaken + `,
seen AS MATERIALIZED (
  SELECT 0 AS place, r.* FROM (
    SELECT {failure} FROM {messages} m WHERE m.state IN (1, 2) AND m.available_at < {aside} LIMIT ?1) r
  UNION ALL
  SELECT 1, r.* FROM (SELECT {failure} FROM {messages} m WHERE m.state = 4 LIMIT ?1) r
  UNION ALL
  SELECT 2, r.* FROM (SELECT {failure} FROM {messages} m WHERE m.state IN (3, 5) LIMIT ?1) r
)` + failureRead + `
UNION ALL
SELECT NULL, '', '', '', '', count(*), NULL FROM (SELECT 1 FROM seen GROUP BY place HAVING count(*) >= ?1)`

func newLiteOverseeSQL(render func(string) string) overseeSQL {
	audit := func(of string) string {
		return render(replaceAll(overseeAudit, "{at}", "at", "{by}", "by", "{key}", "key", "{before}", "?", "{of}", of,
			"{limit}", "?"))
	}
	return overseeSQL{
		sessions: render(replaceAll(overseeSessions, "{claimed}", "json_array_length(c.ids)")),
		audit:    audit(""), auditOf: audit(" AND message = ?"),
	}
}

func liteFailuresText() string {
	return replaceAll(replaceAll(liteFailures, "{failure}", failureColumns),
		"{claimed}", "m.id IN (SELECT id FROM taken)", "{aside}", liteAsideTime, "{sinceCreated}", "{now} - m.created_at")
}

func (l *sqlite) overseeSQL() overseeSQL { return l.sql.oversee }

func (l *sqlite) failures(ctx context.Context, pool *sql.DB, _ int) (outbox.Failures, error) {
	return readFailures(pool.QueryContext(ctx, l.sql.failures, failuresCap))
}
