package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

// backlogCap bounds the messages that a look at the backlog reads in each place; the lanes share it.
const backlogCap = 64_000

// Backlog counts what the store holds, see outbox.Backlogger. It reads up to 64 000 ready messages, as many that wait,
// and as many that are set aside, each by an index. Rows that are deleted and cannot be vacuumed yet cost extra, so
// give ctx a deadline.
func (s *Store) Backlog(ctx context.Context) (outbox.Backlog, error) {
	lanes, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log)
	if err != nil {
		return outbox.Backlog{}, err
	}
	b, err := s.dialect.backlog(ctx, s.pool, max(1, backlogCap/lanes))
	if err != nil {
		return outbox.Backlog{}, fmt.Errorf("count messages: %w", err)
	}
	return b, nil
}

// backlogColumns are what is counted of a message; in braces stands what differs between databases. A message is as
// old as the time since it could first be claimed, except that a retry does not make it young.
const backlogColumns = `m.lane, m.topic, ` + findStatus + ` AS status,
  CASE WHEN m.state = 1 THEN {sinceDue} ELSE {sinceCreated} END AS age`

// readBacklog reads rows of topic, status, messages and microseconds, by topic and status, and of NULL, NULL, capped
// places, 0.
func readBacklog(rows *sql.Rows, err error) (outbox.Backlog, error) {
	if err != nil {
		return outbox.Backlog{}, err
	}
	defer rows.Close()
	var b outbox.Backlog
	for rows.Next() {
		var topic, status sql.NullString
		var n int
		var age int64
		if err := rows.Scan(&topic, &status, &n, &age); err != nil {
			return outbox.Backlog{}, err
		}
		if !topic.Valid {
			b.Capped = n > 0
			continue
		}
		b.Counts = append(b.Counts, outbox.BacklogCount{
			Topic: topic.String, Status: outbox.Status(status.String), Messages: n,
			Oldest: max(0, time.Duration(age)*time.Microsecond),
		})
	}
	return b, rows.Err()
}
