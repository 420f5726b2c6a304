package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/postroom/postroom/outbox"
)

const (
	// myFailures reads each place by its index up to the cap: what is retrying lane by lane, the soonest first, so that
	// what was set aside by a pause is in nobody's way.
	myFailures = `
WITH places AS ({places}),
seen AS (SELECT ` + failureColumns + ` FROM places u JOIN {messages} m ON m.seq = u.seq)` + failureRead + `
UNION ALL
SELECT NULL, '', '', '', '', count(*), NULL FROM (
  SELECT 1 FROM places u GROUP BY u.place HAVING count(*) >= max(u.cap)) f`
	myFailuresWaiting = `(SELECT %[1]d AS place, %[2]d AS cap, m.seq FROM {messages} m FORCE INDEX (due)
  WHERE m.state = 2 AND m.lane = %[1]d AND m.available_at < {aside} ORDER BY m.available_at LIMIT %[2]d)`
)

func (m *mysql) overseeSQL() overseeSQL {
	audit := func(of string) string {
		return m.text(overseeAudit, "{at}", "at", "{by}", "`by`", "{key}", "`key`", "{before}", "?", "{of}", of,
			"{limit}", "?")
	}
	return overseeSQL{
		sessions: m.text(overseeSessions, "{claimed}", "JSON_LENGTH(c.seqs)"),
		audit:    audit(""), auditOf: audit(" AND message = UNHEX(REPLACE(?, '-', ''))"),
	}
}

func (m *mysql) failures(ctx context.Context, pool *sql.DB, lanes int) (outbox.Failures, error) {
	return readFailures(pool.QueryContext(ctx, m.failuresText(lanes)))
}

func (m *mysql) failuresText(lanes int) string {
	var places []string
	for lane := range lanes {
		places = append(places, fmt.Sprintf(myFailuresWaiting, lane, max(1, failuresCap/lanes)))
	}
	for i, states := range []string{"4", "3, 5"} {
		places = append(places, fmt.Sprintf(myBacklogRest, -1-i, failuresCap, states))
	}
	text := replaceAll(myFailures, "{places}", strings.Join(places, "\n  UNION ALL\n  "))
	return m.text(text, "{claimed}", myTaken, "{aside}", fmt.Sprint(asideMicros),
		"{sinceCreated}", "{now} - m.created_at")
}
