package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/postroom/postroom/outbox"
)

const (
	// myBacklog reads each place by its index up to the cap, and counts what it has read.
	myBacklog = `
SELECT topic, status, count(*), max(age)
FROM (SELECT ` + backlogColumns + ` FROM ({places}) u JOIN {messages} m ON m.seq = u.seq) seen
GROUP BY topic, status
UNION ALL
SELECT NULL, NULL, count(*), 0 FROM (SELECT 1 FROM ({places}) u GROUP BY u.place HAVING count(*) >= max(u.cap)) f
ORDER BY 1, 2`
	myBacklogReady = `(SELECT %[1]d AS place, %[2]d AS cap, m.seq FROM {messages} m FORCE INDEX (place)
  WHERE m.state = 0 AND m.lane = %[1]d AND m.holds IS NULL ORDER BY m.seq LIMIT %[2]d)`
	myBacklogRest = `(SELECT %[1]d AS place, %[2]d AS cap, m.seq FROM {messages} m FORCE INDEX (place)
  WHERE m.state IN (%[3]s) LIMIT %[2]d)`
	myTaken = `m.seq IN (SELECT j.seq FROM {claims} c JOIN {sessions} s ON s.id = c.session
  JOIN JSON_TABLE(c.seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) j WHERE s.stopped_at IS NULL AND s.expires_at > {now})`
)

func (m *mysql) backlog(ctx context.Context, pool *sql.DB, perLane int) (outbox.Backlog, error) {
	lanes, err := collect[int](pool.QueryContext(ctx, m.text("SELECT lane FROM {lanes} ORDER BY lane")))
	if err != nil {
		return outbox.Backlog{}, err
	}
	return readBacklog(pool.QueryContext(ctx, m.backlogText(lanes, perLane)))
}

func (m *mysql) backlogText(lanes []int, perLane int) string {
	var places []string
	for _, lane := range lanes {
		places = append(places, fmt.Sprintf(myBacklogReady, lane, perLane))
	}
	for i, states := range []string{"1, 2", "4", "3, 5"} {
		places = append(places, fmt.Sprintf(myBacklogRest, -1-i, backlogCap, states))
	}
	text := replaceAll(myBacklog, "{places}", strings.Join(places, "\n  UNION ALL\n  "))
	return m.text(text, "{claimed}", myTaken,
		"{sinceDue}", "{now} - m.available_at", "{sinceCreated}", "{now} - m.created_at")
}
