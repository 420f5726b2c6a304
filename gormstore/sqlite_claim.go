package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
)

const (
	// liteColumns tell an empty payload from none, which the driver does not.
	liteColumns = `m.id, m.seq, m.lane, m.state, m.attempts, m.failures, m.crashes, m.version, m.available_at,
  m.created_at, m.topic, m.key, m.type, m.content_type, m.transport, m.tenant, m.headers, m.payload,
  m.payload IS NOT NULL`

	// liteHeld are the lanes of a living session.
	liteHeld = `SELECT lane, epoch, nudge FROM {lanes} WHERE owner = ?1 AND EXISTS (
  SELECT 1 FROM {sessions} WHERE id = ?1 AND stopped_at IS NULL AND expires_at > {now})`

	// liteWaiting are the lanes that have ready or waiting messages, found by one step of the index for each.
	liteWaiting = `
WITH RECURSIVE
  r (lane) AS (
    SELECT min(lane) FROM {messages} WHERE state = 0
    UNION ALL
    SELECT (SELECT min(lane) FROM {messages} WHERE state = 0 AND lane > r.lane) FROM r WHERE r.lane IS NOT NULL),
  w (lane) AS (
    SELECT min(lane) FROM {messages} WHERE state IN (1, 2)
    UNION ALL
    SELECT (SELECT min(lane) FROM {messages} WHERE state IN (1, 2) AND lane > w.lane) FROM w WHERE w.lane IS NOT NULL)
SELECT lane FROM r WHERE lane IS NOT NULL UNION SELECT lane FROM w WHERE lane IS NOT NULL`

	// liteRead is what is due again in a lane above ?4, and what is ready at or above its start, by number.
	liteRead = `
SELECT * FROM (
  SELECT * FROM (
    SELECT {columns} FROM {messages} m
    WHERE m.lane = ?1 AND m.state IN (1, 2) AND m.available_at <= {now} AND m.seq > ?4
      AND NOT EXISTS (SELECT 1 FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq)
    ORDER BY m.available_at LIMIT ?3)
  UNION ALL
  SELECT * FROM (
    SELECT {columns} FROM {messages} m
    WHERE m.lane = ?1 AND m.state = 0 AND m.seq >= ?2
      AND NOT EXISTS (SELECT 1 FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq)
    ORDER BY m.seq LIMIT ?3)
) ORDER BY 2 LIMIT ?3`

	liteSuspectsDue = ` FROM {messages} m
WHERE m.state = 4 AND m.lane IN (SELECT value FROM json_each(?1)) AND m.available_at <= {now}
  AND NOT EXISTS (SELECT 1 FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq)`
	liteSuspects = `SELECT EXISTS (SELECT 1` + liteSuspectsDue + `)`
	liteSuspect  = `SELECT {columns}` + liteSuspectsDue + ` ORDER BY m.available_at, m.seq LIMIT 1`

	litePut = `INSERT INTO {claims} (token, session, worker, ids, claimed_at) VALUES (?, ?, ?, ?, {now})`
)

func (l *sqlite) claim(ctx context.Context, pool *sql.DB, q claimQuery) (answer claimAnswer, err error) {
	err = l.transact(ctx, pool, func(db querier) error {
		answer, err = l.claimIn(ctx, db, q)
		if err != nil || len(answer.rows) == 0 {
			return err
		}
		_, err = db.ExecContext(ctx, l.sql.put, q.Token.String(), q.Session.String(), q.Worker, jsonArray(ids(answer.rows)))
		return err
	})
	return answer, err
}

func (l *sqlite) claimIn(ctx context.Context, db querier, q claimQuery) (claimAnswer, error) {
	a := claimAnswer{}
	var err error
	if a.nudges, err = l.held(ctx, db, q); err != nil || len(a.nudges) == 0 {
		return a, err
	}
	var lanes []int
	for lane := range a.nudges {
		lanes = append(lanes, lane)
	}
	if err := db.QueryRowContext(ctx, l.sql.suspects, jsonArray(lanes)).Scan(&a.suspects); err != nil {
		return a, err
	}
	if !q.Suspect {
		return a, l.fill(ctx, db, q, &a)
	}
	if q.Limit > 0 {
		a.rows, err = readLite(db.QueryContext(ctx, l.sql.suspect, jsonArray(lanes)))
	}
	return a, err
}

// held returns the nudges of the asked lanes that the session still holds at the given epoch.
func (l *sqlite) held(ctx context.Context, db querier, q claimQuery) (map[int]int64, error) {
	rows, err := db.QueryContext(ctx, l.sql.held, q.Session.String())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	asked := make(map[int]int64, len(q.lanes))
	for _, lane := range q.lanes {
		asked[lane.lane] = lane.epoch
	}
	nudges := map[int]int64{}
	for rows.Next() {
		var lane int
		var epoch, nudge int64
		if err := rows.Scan(&lane, &epoch, &nudge); err != nil {
			return nil, err
		}
		if e, ok := asked[lane]; ok && e == epoch {
			nudges[lane] = nudge
		}
	}
	return nudges, rows.Err()
}

// filler puts messages into a claim until a bound stops it.
type filler struct {
	claimQuery
	answer *claimAnswer
	bytes  int
	counts []int   // of messages, by ord
	last   []int64 // number, by ord
}

func (*sqlite) room(q claimQuery) int { return q.fairRoom() }

// fill gives each lane its room first, and then what is left of the batch to those that have more.
func (l *sqlite) fill(ctx context.Context, db querier, q claimQuery, a *claimAnswer) error {
	list, err := collect[int](db.QueryContext(ctx, l.sql.waiting))
	if err != nil {
		return err
	}
	waiting := make(map[int]bool, len(list))
	for _, lane := range list {
		_, held := a.nudges[lane]
		waiting[lane] = held
	}
	f := &filler{claimQuery: q, answer: a, counts: make([]int, len(q.lanes)), last: make([]int64, len(q.lanes))}
	for ord, lane := range q.lanes {
		if !waiting[lane.lane] {
			continue
		}
		if more, err := l.first(ctx, db, f, ord); err != nil || !more {
			return err
		}
	}
	for ord, lane := range q.lanes {
		if q.PerKey > 0 || f.counts[ord] < lane.room {
			continue
		}
		if more, err := l.more(ctx, db, f, ord); err != nil || !more {
			return err
		}
	}
	return nil
}

// first gives a lane its room, and reports whether there is any left for others.
func (l *sqlite) first(ctx context.Context, db querier, f *filler, ord int) (bool, error) {
	lane := f.lanes[ord]
	start := f.answer.start(lane, f.answer.nudges[lane.lane])
	rows, err := readLite(db.QueryContext(ctx, l.sql.read, lane.lane, start, lane.room, 0))
	if err != nil {
		return false, err
	}
	return f.add(ord, bounded(rows, f.PerKey)), nil
}

// more gives a lane what is left of the batch.
func (l *sqlite) more(ctx context.Context, db querier, f *filler, ord int) (bool, error) {
	after := f.last[ord]
	rows, err := readLite(db.QueryContext(ctx, l.sql.read, f.lanes[ord].lane, after+1, f.Limit-len(f.answer.rows), after))
	if err != nil {
		return false, err
	}
	return f.add(ord, rows), nil
}

// add reports whether there is room for more.
func (f *filler) add(ord int, rows []*storedRow) bool {
	for _, r := range rows {
		f.bytes += len(r.Payload)
		if f.bytes > f.Bytes && len(f.answer.rows) > 0 {
			f.answer.cut = true
			return false
		}
		r.ord = ord
		f.counts[ord]++
		f.last[ord] = r.seq
		f.answer.rows = append(f.answer.rows, r)
		if len(f.answer.rows) == f.Limit {
			return false
		}
	}
	return true
}

// bounded returns rows with at most perKey of one key, if that is not 0.
func bounded(rows []*storedRow, perKey int) []*storedRow {
	counts := map[string]int{}
	var kept []*storedRow
	for _, r := range rows {
		if perKey > 0 && r.Key != "" {
			if counts[r.Key]++; counts[r.Key] > perKey {
				continue
			}
		}
		kept = append(kept, r)
	}
	return kept
}

func readLite(rows *sql.Rows, err error) ([]*storedRow, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*storedRow
	for rows.Next() {
		r, err := readLiteRow(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func readLiteRow(rows *sql.Rows) (*storedRow, error) {
	m := &outbox.Message{}
	r := &storedRow{Claimed: outbox.Claimed{Message: m}}
	var key sql.NullString
	var available sql.NullInt64
	var created int64
	var headers []byte
	var payload bool
	err := rows.Scan(&m.ID, &r.seq, &r.Lane, &r.state, &r.Attempts, &r.Failures, &r.Crashes, &m.Version,
		&available, &created, &m.Topic, &key, &m.Type, &m.ContentType, &m.Transport, &m.Tenant, &headers, &m.Payload,
		&payload)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	if payload && m.Payload == nil {
		m.Payload = []byte{}
	}
	m.Key, m.CreatedAt = key.String, time.UnixMicro(created).UTC()
	if available.Valid {
		m.AvailableAt = time.UnixMicro(available.Int64).UTC()
	}
	m.Headers, r.broken = decodeHeaders(headers)
	return r, nil
}
