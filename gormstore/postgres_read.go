package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgColumns are what a claim reads of a message. What nearly every message has is left out as NULL, which costs the
// server nothing to pass on, and so is a payload of more than $10 bytes, whose size comes instead.
const pgColumns = `m.id, m.seq, m.lane, nullif(m.state, 0) AS state, nullif(m.attempts, 0) AS attempts,
  nullif(m.failures, 0) AS failures, nullif(m.crashes, 0) AS crashes, nullif(m.version, 1) AS version, m.available_at,
  m.created_at, m.topic, m.key, m.type, m.content_type, nullif(m.transport, '') AS transport,
  nullif(m.tenant, '') AS tenant, m.headers,
  CASE WHEN octet_length(m.payload) > $10::integer THEN octet_length(m.payload) END AS wide,
  CASE WHEN octet_length(m.payload) > $10::integer THEN NULL ELSE m.payload END AS payload`

// pgFree leaves out a message while an earlier one of its key blocks. Most lanes have no blocks at all, and then
// nothing is looked up.
const pgFree = `(l.calm OR NOT EXISTS (
  SELECT FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq))`

// pgRead is one statement, so that one snapshot decides and reads:
// late is that snapshot, and the lowest bound of the listed writers that have ended by it (horizon.go);
// mine holds the lanes against what the relay believes; calm lanes have no blocks;
// pick reads them in turn, and nothing of it is kept on the server.
// The first row of the answer is a header: seq holds the rewind, topic the snapshot, key the nudges, lane whether
// suspects are due.
const pgRead = `
WITH late AS MATERIALIZED (
  SELECT pg_current_snapshot()::text AS snapshot,
    (SELECT min(u.low) FROM unnest($8::text[], $9::bigint[]) AS u (x, low)
      WHERE pg_visible_in_snapshot(u.x::xid8, pg_current_snapshot())) AS low
),
mine AS MATERIALIZED (
  SELECT l.lane, l.nudge, w.ord, w.room,
    CASE WHEN l.nudge = w.nudge THEN least(w.start, late.low + 1) ELSE 0 END AS start,
    NOT EXISTS (SELECT FROM {blocks} b WHERE b.lane = l.lane) AS calm
  FROM {lanes} l
  JOIN unnest($3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[]) WITH ORDINALITY
    AS w (lane, epoch, nudge, start, room, ord) ON w.lane = l.lane
  CROSS JOIN late
  WHERE l.owner = $1 AND l.epoch = w.epoch AND EXISTS (
    SELECT FROM {sessions} s WHERE s.id = $1 AND s.stopped_at IS NULL AND s.expires_at > clock_timestamp())
)
SELECT NULL::bigint AS ord, NULL::uuid AS id, late.low AS seq,
  EXISTS (SELECT FROM mine l CROSS JOIN LATERAL (
    SELECT FROM {messages} m
    WHERE m.lane = l.lane AND m.state = 4 AND m.available_at <= now()
      AND {free}
    LIMIT 1) x)::integer AS lane,
  0, 0, 0, 0, 0, NULL::timestamptz, NULL::timestamptz, late.snapshot,
  (SELECT string_agg(lane || ':' || nudge, ',') FROM mine), '', '', '', '', NULL::bytea, 0, NULL::bytea
FROM late
UNION ALL
({pick})`

// pgLane reads lane l by number, as far as its room: what is due again, and what is ready at or above the lane's start.
// A message is left out while an earlier one of its key blocks.
const pgLane = `
  SELECT u.* FROM (
    (SELECT {columns} FROM {messages} m
      WHERE m.lane = l.lane AND m.state IN (1, 2) AND m.available_at <= now()
        AND {free}
      ORDER BY m.available_at LIMIT l.room)
    UNION ALL
    (SELECT {columns} FROM {messages} m
      WHERE m.lane = l.lane AND m.state = 0 AND m.seq >= l.start
        AND {free}
      ORDER BY m.seq LIMIT l.room)
  ) u
  ORDER BY u.seq LIMIT l.room`

const pgPick = `
SELECT l.ord, r.*
FROM (SELECT * FROM mine ORDER BY ord) l CROSS JOIN LATERAL (` + pgLane + `
) r
LIMIT $2`

// pgPickPerKey leaves out what exceeds the bound of its key; the room of a lane is what it looks at.
const pgPickPerKey = `
SELECT l.ord, r.id, r.seq, r.lane, r.state, r.attempts, r.failures, r.crashes, r.version, r.available_at,
  r.created_at, r.topic, r.key, r.type, r.content_type, r.transport, r.tenant, r.headers, r.wide, r.payload
FROM (SELECT * FROM mine ORDER BY ord) l CROSS JOIN LATERAL (
  SELECT k.* FROM (
    SELECT v.*, row_number() OVER (PARTITION BY v.key ORDER BY v.seq) AS nth FROM (` + pgLane + `
    ) v
  ) k
  WHERE k.key IS NULL OR k.nth <= $11::integer
  ORDER BY k.seq
) r
LIMIT $2`

// pgPickSuspect takes the message that has been due longest, alone.
const pgPickSuspect = `
SELECT s.* FROM (
  SELECT l.ord, r.*
  FROM mine l CROSS JOIN LATERAL (
    SELECT {columns} FROM {messages} m
    WHERE m.lane = l.lane AND m.state = 4 AND m.available_at <= now()
      AND {free}
    ORDER BY m.available_at, m.seq LIMIT 1
  ) r
) s
ORDER BY s.available_at, s.seq
LIMIT least($2, 1)`

// read finds what a claim may have, in the order of its lanes and by number.
func (p *postgres) read(ctx context.Context, pool *sql.DB, q claimQuery) (a claimAnswer, err error) {
	text, args := p.readStatement(q)
	defer p.plans.took(time.Now())
	if !p.pin.Load() {
		err = p.onWire(ctx, pool, func(conn *pgx.Conn) error {
			a, err = queryWire(ctx, conn, text, args)
			return err
		})
		if !errors.Is(err, errScan) {
			return a, err
		}
	}
	err = p.once(ctx, pool, func(db querier) error {
		a, err = scanClaim(ctx, db, text, args)
		return err
	})
	return a, err
}

func (p *postgres) readStatement(q claimQuery) (string, []any) {
	text, args := p.sql.read, readArgs(q)
	switch {
	case q.Suspect:
		text = p.sql.readSuspect
	case q.PerKey > 0:
		text, args = p.sql.readPerKey, append(args, q.PerKey)
	}
	return p.plans.text(text), args
}

func readArgs(q claimQuery) []any {
	n := len(q.lanes)
	lanes, epochs, nudges := make([]int, n), make([]int64, n), make([]int64, n)
	starts, rooms := make([]int64, n), make([]int, n)
	for i, l := range q.lanes {
		lanes[i], epochs[i], nudges[i] = l.lane, l.epoch, l.nudge
		starts[i], rooms[i] = l.start, l.room
	}
	ids, lows := q.open.bounds()
	return []any{
		q.Session.String(), q.Limit,
		intArray(lanes), intArray(epochs), intArray(nudges), intArray(starts), intArray(rooms),
		textArray(ids), intArray(lows), q.Bytes / max(1, q.Limit),
	}
}

func scanClaim(ctx context.Context, db querier, text string, args []any) (claimAnswer, error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return claimAnswer{}, err
	}
	defer rows.Close()
	if !rows.Next() {
		return claimAnswer{}, errors.Join(errors.New("no answer"), rows.Err())
	}
	answer, err := readHeader(rows)
	if err != nil {
		return claimAnswer{}, err
	}
	for rows.Next() {
		r, err := readRow(rows)
		if err != nil {
			return claimAnswer{}, err
		}
		answer.rows = append(answer.rows, r)
	}
	return answer, rows.Err()
}

var errNoHeader = errors.New("the claim's header is not its first row")

// readHeader reads the first row, see pgRead.
func readHeader(rows *sql.Rows) (claimAnswer, error) {
	var ord, low sql.NullInt64
	var snapshot, nudges sql.NullString
	var suspects int
	var skip any
	err := rows.Scan(&ord, &skip, &low, &suspects, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &snapshot, &nudges,
		&skip, &skip, &skip, &skip, &skip, &skip, &skip)
	if err != nil {
		return claimAnswer{}, fmt.Errorf("read the claim's header: %w", err)
	}
	if ord.Valid {
		return claimAnswer{}, errNoHeader
	}
	a := claimAnswer{snapshot: snapshot.String, suspects: suspects > 0}
	if low.Valid {
		a.rewound = &low.Int64
	}
	a.nudges, err = parseNudges(nudges.String)
	return a, err
}

// parseNudges reads lane:nudge,lane:nudge.
func parseNudges(text string) (map[int]int64, error) {
	nudges := map[int]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		lane, nudge, _ := strings.Cut(pair, ":")
		l, err1 := strconv.Atoi(lane)
		n, err2 := strconv.ParseInt(nudge, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read nudges: %w", err)
		}
		nudges[l] = n
	}
	return nudges, nil
}
