package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// finding is a filter with the page that is asked for.
type finding struct {
	outbox.Filter
	after int64
	limit int
	lane  int // of the key; -1 for any
}

// Find shows messages, see outbox.Inspector. A page is read by index from where the last one ended, lane by lane, so it
// costs the same anywhere in a large table; but a filter by text that matches few of many messages reads them all.
func (s *Store) Find(ctx context.Context, f outbox.Filter, after int64, limit int) ([]outbox.Record, error) {
	lanes, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log)
	if err != nil || limit < 1 {
		return nil, err
	}
	q := finding{Filter: f, after: after, limit: limit, lane: -1}
	if f.Key != "" {
		q.lane = outbox.LaneOf(&outbox.Message{Key: f.Key}, lanes)
	}
	records, err := s.dialect.find(ctx, s.pool, q)
	if err != nil {
		return nil, fmt.Errorf("find messages: %w", err)
	}
	return records, nil
}

// The parts of a search that both databases share. In braces stands what differs; instants are microseconds.
const (
	findStatus = `CASE
  WHEN m.state = 3 THEN 'parked'
  WHEN m.state = 5 THEN 'skipped'
  WHEN {claimed} THEN 'in_flight'
  WHEN m.state = 1 AND m.available_at > {now} THEN 'scheduled'
  WHEN EXISTS (SELECT 1 FROM {pauses} p
    WHERE NOT p.ending AND p.topic IN ('', m.topic) AND p.key IN ('', coalesce(m.key, ''))) THEN 'paused'
  WHEN m.state = 2 THEN 'retrying'
  WHEN m.state = 4 THEN 'suspect'
  WHEN EXISTS (SELECT 1 FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq) THEN 'held'
  ELSE 'pending' END`

	findColumns = `m.id, m.seq, m.lane, ` + findStatus + `, m.attempts, m.failures, m.crashes, m.uncertain,
  CASE WHEN m.state IN (1, 2) THEN {wait} ELSE 0 END, coalesce(m.last_class, ''), coalesce(m.last_error, ''),
  m.version, {available}, {created}, m.topic, coalesce(m.key, ''), m.type, m.content_type, m.transport, m.tenant,
  m.headers, length(m.payload), `

	// findMatch asks for the status by NOT NULL, which PostgreSQL takes for likely: by its guess at an equality, few of
	// a lane would match, and it would read the whole lane.
	findMatch = `m.seq > $1 AND ($3 = '' OR m.topic = $3) AND ($4 = '' OR m.key = $4) AND ($5 = '' OR m.type = $5)
  AND ($6 = '' OR m.tenant = $6) AND ($7 = '' OR m.last_class = $7) AND ($8 = '' OR {position}(m.last_error, $8) > 0)
  AND ($9 = CAST(0 AS bigint) OR m.created_at <= {now} - $9{microseconds})
  AND ($10 = '' OR CASE WHEN ` + findStatus + ` = $10 THEN 1 END IS NOT NULL)
  AND ($11 < 0 OR m.lane = $11)`
)

// args are $1 to $11, and $12 where a place asks for it.
func (f finding) args() []any {
	args := []any{
		f.after, f.limit, f.Topic, f.Key, f.Type, f.Tenant, string(f.Class), f.Error, f.OlderThan.Microseconds(),
		string(f.Status), f.lane,
	}
	if f.ID != uuid.Nil {
		args = append(args, f.ID.String())
	}
	return args
}

// The sets of states that have an index each, in the words of those indexes.
const (
	findReady   = "m.state = 0"
	findDue     = "m.state IN (1, 2)"
	findSuspect = "m.state = 4"
	findAside   = "m.state IN (3, 5)"
	findClaimed = "{claimed}" // those that claims name
	findByID    = "m.id = {id}"
)

// places tells where messages of a filter stand.
func places(f outbox.Filter) []string {
	if f.ID != uuid.Nil {
		return []string{findByID}
	}
	switch f.Status {
	case "":
		return []string{findReady, findDue, findSuspect, findAside}
	case outbox.StatusPending, outbox.StatusHeld:
		return []string{findReady, findDue}
	case outbox.StatusScheduled, outbox.StatusRetrying:
		return []string{findDue}
	case outbox.StatusPaused:
		return []string{findReady, findDue, findSuspect}
	case outbox.StatusSuspect:
		return []string{findSuspect}
	case outbox.StatusParked, outbox.StatusSkipped:
		return []string{findAside}
	case outbox.StatusInFlight:
		return []string{findClaimed}
	}
	return nil
}

// findOnly narrows the search among ready messages, of which there may be millions, where few can have the status:
// nothing is held below the lowest block of its lanes, or paused when there is no pause.
func findOnly(status outbox.Status, inLane string) string {
	switch status {
	case outbox.StatusHeld:
		return " AND m.seq > (SELECT min(b.seq) FROM {blocks} b" + inLane + ")"
	case outbox.StatusPaused:
		return " AND EXISTS (SELECT 1 FROM {pauses} p WHERE NOT p.ending)"
	}
	return ""
}

// columns are what is read of a message, with its payload or without.
func (f finding) columns() string {
	if f.WithoutPayload {
		return findColumns + "NULL"
	}
	return findColumns + "m.payload"
}

func readRecords(rows *sql.Rows, err error) ([]outbox.Record, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var records []outbox.Record
	for rows.Next() {
		r, err := readRecord(rows)
		if err != nil {
			return nil, fmt.Errorf("read a message: %w", err)
		}
		records = append(records, r)
	}
	return records, rows.Err()
}

// readRecord shows a message whose headers cannot be read without them: its last error tells.
func readRecord(rows *sql.Rows) (outbox.Record, error) {
	m := &outbox.Message{}
	r := outbox.Record{Message: m}
	var wait, created int64
	var available sql.NullInt64
	var headers []byte
	var size sql.NullInt64
	err := rows.Scan(&m.ID, &r.Number, &r.Lane, &r.Status, &r.Attempts, &r.Failures, &r.Crashes, &r.Uncertain,
		&wait, &r.LastClass, &r.LastError, &m.Version, &available, &created, &m.Topic, &m.Key, &m.Type, &m.ContentType,
		&m.Transport, &m.Tenant, &headers, &size, &m.Payload)
	if err != nil {
		return r, err
	}
	r.Size = int(size.Int64)
	if size.Valid && size.Int64 == 0 {
		m.Payload = []byte{}
	}
	if available.Int64 == asideMicros {
		wait, available.Valid = 0, false
	}
	r.DueIn = max(0, time.Duration(wait)*time.Microsecond)
	m.CreatedAt = time.UnixMicro(created).UTC()
	if available.Valid {
		m.AvailableAt = time.UnixMicro(available.Int64).UTC()
	}
	if hs, err := decodeHeaders(headers); err == nil {
		m.Headers = hs
	}
	return r, nil
}
