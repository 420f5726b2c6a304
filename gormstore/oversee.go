package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// failuresCap bounds the messages that a look at failures reads in each place; the lanes share it.
const failuresCap = 20_000

// overseeSQL are statements of the dialect, with the arguments in this order.
type overseeSQL struct {
	sessions string // → id, relay, µs of age and until it expires, whether it is stopped, in flight; id, …, lane
	audit    string // number below, limit → number, µs since 1970, by, reason, act, message, topic, key
	auditOf  string // number below, message, limit → the same
}

// Sessions shows who holds what, see outbox.Overseer. It reads the tables of sessions, lanes and claims, which are
// small.
func (s *Store) Sessions(ctx context.Context) ([]outbox.Session, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return nil, err
	}
	sessions, err := readSessions(s.pool.QueryContext(ctx, s.dialect.overseeSQL().sessions))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return sessions, nil
}

// Failures groups what fails, see outbox.Overseer. It reads up to 20 000 messages that wait, as many suspects, and as
// many that are set aside, each by an index.
func (s *Store) Failures(ctx context.Context) (outbox.Failures, error) {
	lanes, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log)
	if err != nil {
		return outbox.Failures{}, err
	}
	f, err := s.dialect.failures(ctx, s.pool, lanes)
	if err != nil {
		return outbox.Failures{}, fmt.Errorf("group failures: %w", err)
	}
	return f, nil
}

// Audit shows what operators did, see outbox.Overseer. Any page is read by an index.
func (s *Store) Audit(ctx context.Context, message uuid.UUID, before int64, limit int) ([]outbox.AuditEntry, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil || limit < 1 {
		return nil, err
	}
	text, args := s.dialect.overseeSQL().audit, []any{cmp.Or(before, math.MaxInt64), limit}
	if message != uuid.Nil {
		text, args = s.dialect.overseeSQL().auditOf, []any{args[0], message.String(), limit}
	}
	entries, err := readAudit(s.pool.QueryContext(ctx, text, args...))
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	return entries, nil
}

// The parts that the databases share. In braces stands what differs.
const (
	// overseeSessions has a row for each session, and one for each lane that somebody holds.
	overseeSessions = `
SELECT s.id, s.relay, {now} - s.started_at, s.expires_at - {now}, s.stopped_at IS NOT NULL,
  coalesce((SELECT sum({claimed}) FROM {claims} c WHERE c.session = s.id), 0), -1
FROM {sessions} s
WHERE s.stopped_at IS NULL OR s.id IN (SELECT owner FROM {lanes}) OR s.id IN (SELECT session FROM {claims})
UNION ALL
SELECT owner, '', 0, 0, FALSE, 0, lane FROM {lanes} WHERE owner IS NOT NULL`

	overseeAudit = `
SELECT id, {at}, {by}, reason, act, message, topic, coalesce({key}, '') FROM {audit}
WHERE id < {before}{of} ORDER BY id DESC LIMIT {limit}`

	failureColumns = `m.lane, m.topic, m.type, ` + findStatus + ` AS status, coalesce(m.last_class, '') AS class,
  substr(coalesce(m.last_error, ''), 1, 300) AS error, {sinceCreated} AS age, m.id, m.attempts`

	// failureRead leaves out what is retrying because somebody requeued it, or set it aside, and only that.
	failureRead = `
SELECT status, topic, type, class, error, age, id FROM seen
WHERE status IN ('parked', 'skipped', 'retrying', 'suspect') AND attempts > 0`
)

func readSessions(rows *sql.Rows, err error) ([]outbox.Session, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var sessions []outbox.Session
	lanes := map[uuid.UUID][]int{}
	for rows.Next() {
		var s outbox.Session
		var age, expiry int64
		var lane int
		if err := rows.Scan(&s.ID, &s.Relay, &age, &expiry, &s.Stopped, &s.InFlight, &lane); err != nil {
			return nil, err
		}
		if lane >= 0 {
			lanes[s.ID] = append(lanes[s.ID], lane)
			continue
		}
		s.Age, s.Expiry = time.Duration(age)*time.Microsecond, time.Duration(expiry)*time.Microsecond
		sessions = append(sessions, s)
	}
	for i, s := range sessions {
		sessions[i].Lanes = lanes[s.ID]
		slices.Sort(sessions[i].Lanes)
	}
	slices.SortFunc(sessions, func(a, b outbox.Session) int {
		return cmp.Or(cmp.Compare(a.Relay, b.Relay), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return sessions, rows.Err()
}

// readFailures reads rows of status, topic, type, class, error, microseconds and id of a message, and rows of NULL and
// capped places.
func readFailures(rows *sql.Rows, err error) (outbox.Failures, error) {
	if err != nil {
		return outbox.Failures{}, err
	}
	defer rows.Close()
	var f outbox.Failures
	var failed []outbox.FailureGroup
	for rows.Next() {
		var status sql.NullString
		var age int64
		var id uuid.NullUUID
		g := outbox.FailureGroup{Messages: 1}
		if err := rows.Scan(&status, &g.Topic, &g.Type, &g.Class, &g.Error, &age, &id); err != nil {
			return outbox.Failures{}, err
		}
		if !status.Valid {
			f.Capped = age > 0
			continue
		}
		g.Status, g.Example = outbox.Status(status.String), id.UUID
		g.Oldest = max(0, time.Duration(age)*time.Microsecond)
		failed = append(failed, g)
	}
	f.Groups = outbox.GroupFailures(failed)
	return f, rows.Err()
}

func readAudit(rows *sql.Rows, err error) ([]outbox.AuditEntry, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var entries []outbox.AuditEntry
	for rows.Next() {
		var e outbox.AuditEntry
		var at int64
		if err := rows.Scan(&e.Number, &at, &e.By, &e.Reason, &e.Deed, &e.Message, &e.Topic, &e.Key); err != nil {
			return nil, err
		}
		e.At = time.UnixMicro(at).UTC()
		entries = append(entries, e)
	}
	return entries, rows.Err()
}
