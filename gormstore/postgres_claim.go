package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// pgColumns are what a claim reads of a message. What nearly every message has is left out as NULL, which costs the
// server nothing to pass on.
const pgColumns = `m.id, m.seq, m.lane, nullif(m.state, 0) AS state, nullif(m.attempts, 0) AS attempts,
  nullif(m.failures, 0) AS failures, nullif(m.crashes, 0) AS crashes, nullif(m.version, 1) AS version, m.available_at,
  m.created_at, m.topic, m.key, m.type, m.content_type, nullif(m.transport, '') AS transport,
  nullif(m.tenant, '') AS tenant, m.headers, m.payload`

// pgFree leaves out a message while an earlier one of its key blocks. Most lanes have no blocks at all, and then
// nothing is looked up.
const pgFree = `(l.calm OR NOT EXISTS (
  SELECT FROM {blocks} b WHERE b.lane = m.lane AND b.key = m.key AND b.seq < m.seq))`

// pgClaim is one statement, so that one snapshot decides and reads:
// late is that snapshot, and the lowest bound of the listed writers that have ended by it (horizon.go);
// mine locks the lanes against their loss and holds them against what the relay believes; calm lanes have no blocks;
// pick reads them in turn: first gives each lane its room, more what is left of the batch;
// past is where the byte bound stops, the first message being exempt;
// put records the claim. The first row of the answer is a header: seq holds the rewind, topic the snapshot, key the
// nudges, lane whether suspects are due, state whether the byte bound left some out.
const pgClaim = `
WITH late AS MATERIALIZED (
  SELECT pg_current_snapshot()::text AS snapshot,
    (SELECT min(u.low) FROM unnest($11::text[], $12::bigint[]) AS u (x, low)
      WHERE pg_visible_in_snapshot(u.x::xid8, pg_current_snapshot())) AS low
),
mine AS MATERIALIZED (
  SELECT l.lane, l.nudge, w.ord, w.room,
    CASE WHEN l.nudge = w.nudge THEN least(w.start, late.low + 1) ELSE 0 END AS start,
    NOT EXISTS (SELECT FROM {blocks} b WHERE b.lane = l.lane) AS calm
  FROM {lanes} l
  JOIN unnest($6::smallint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::integer[]) WITH ORDINALITY
    AS w (lane, epoch, nudge, start, room, ord) ON w.lane = l.lane
  CROSS JOIN late
  WHERE l.owner = $2 AND l.epoch = w.epoch AND EXISTS (
    SELECT FROM {sessions} s WHERE s.id = $2 AND s.stopped_at IS NULL AND s.expires_at > clock_timestamp())
  ORDER BY l.lane
  FOR SHARE OF l
),
{pick},
size AS (SELECT sum(octet_length(payload)) AS bytes FROM pick),
past AS MATERIALIZED (
  SELECT r.ord, r.seq
  FROM (
    SELECT p.ord, p.seq, sum(octet_length(p.payload)) OVER w AS bytes, row_number() OVER w AS nth
    FROM pick p
    WHERE (SELECT bytes FROM size) > $5::bigint
    WINDOW w AS (ORDER BY p.ord, p.seq)
  ) r
  WHERE r.bytes > $5::bigint AND r.nth > 1
  ORDER BY r.ord, r.seq
  LIMIT 1
),
put AS (
  INSERT INTO {claims} (token, session, worker, ids)
  SELECT $1, $2, $3, array_agg(p.id)
  FROM pick p
  WHERE NOT EXISTS (SELECT FROM past WHERE (p.ord, p.seq) >= (past.ord, past.seq))
  HAVING count(*) > 0
)
SELECT NULL::bigint AS ord, NULL::uuid AS id, late.low AS seq,
  EXISTS (SELECT FROM mine l CROSS JOIN LATERAL (
    SELECT FROM {messages} m
    WHERE m.lane = l.lane AND m.state = 4 AND m.available_at <= now()
      AND {free}
    LIMIT 1) x)::integer AS lane,
  (SELECT count(*) FROM past)::integer AS state, 0, 0, 0, 0, NULL::timestamptz, NULL::timestamptz, late.snapshot,
  (SELECT string_agg(lane || ':' || nudge, ',') FROM mine), '', '', '', '', NULL::bytea, NULL::bytea
FROM late
UNION ALL
SELECT p.* FROM pick p WHERE NOT EXISTS (SELECT FROM past WHERE (p.ord, p.seq) >= (past.ord, past.seq))`

// pgPick reads each lane by number: what is due again, and what is ready at or above the lane's start. A message is
// left out while an earlier one of its key blocks.
const pgPick = `first AS MATERIALIZED (
  SELECT l.ord, r.*
  FROM (SELECT * FROM mine ORDER BY ord) l CROSS JOIN LATERAL (
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
    ORDER BY u.seq LIMIT l.room
  ) r
  LIMIT $4
),
more AS MATERIALIZED (
  SELECT l.ord, r.*
  FROM (
    SELECT mine.ord, mine.lane, mine.calm, f.seq
    FROM (SELECT ord, count(*) AS n, max(seq) AS seq FROM first GROUP BY ord) f JOIN mine ON mine.ord = f.ord
    WHERE f.n >= mine.room AND (SELECT count(*) FROM first) < $4
    ORDER BY mine.ord
  ) l CROSS JOIN LATERAL (
    SELECT u.* FROM (
      (SELECT {columns} FROM {messages} m
        WHERE m.lane = l.lane AND m.state IN (1, 2) AND m.available_at <= now() AND m.seq > l.seq
          AND {free}
        ORDER BY m.available_at LIMIT $4)
      UNION ALL
      (SELECT {columns} FROM {messages} m
        WHERE m.lane = l.lane AND m.state = 0 AND m.seq > l.seq
          AND {free}
        ORDER BY m.seq LIMIT $4)
    ) u
    ORDER BY u.seq LIMIT $4
  ) r
  LIMIT $4 - (SELECT count(*) FROM first)
),
pick AS NOT MATERIALIZED (SELECT * FROM first UNION ALL SELECT * FROM more)`

// pgPickPerKey leaves out what exceeds the bound of its key; the room of a lane is what it looks at.
const pgPickPerKey = `pick AS MATERIALIZED (
  SELECT l.ord, r.id, r.seq, r.lane, r.state, r.attempts, r.failures, r.crashes, r.version, r.available_at,
    r.created_at, r.topic, r.key, r.type, r.content_type, r.transport, r.tenant, r.headers, r.payload
  FROM (SELECT * FROM mine ORDER BY ord) l CROSS JOIN LATERAL (
    SELECT k.* FROM (
      SELECT u.*, row_number() OVER (PARTITION BY u.key ORDER BY u.seq) AS nth FROM (
        SELECT v.* FROM (
          (SELECT {columns} FROM {messages} m
            WHERE m.lane = l.lane AND m.state IN (1, 2) AND m.available_at <= now()
              AND {free}
            ORDER BY m.available_at LIMIT l.room)
          UNION ALL
          (SELECT {columns} FROM {messages} m
            WHERE m.lane = l.lane AND m.state = 0 AND m.seq >= l.start
              AND {free}
            ORDER BY m.seq LIMIT l.room)
        ) v
        ORDER BY v.seq LIMIT l.room
      ) u
    ) k
    WHERE k.key IS NULL OR k.nth <= $13::integer
    ORDER BY k.seq
  ) r
  LIMIT $4
)`

// pgPickSuspect takes the message that has been due longest, alone.
const pgPickSuspect = `pick AS MATERIALIZED (
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
  LIMIT least($4, 1)
)`

func (p *postgres) claim(ctx context.Context, pool *sql.DB, q claimQuery) (answer claimAnswer, err error) {
	text, args := p.claimStatement(q)
	defer p.plans.took(time.Now())
	if !p.pin.Load() {
		if answer, err = p.claimOnWire(ctx, pool, text, args); !errors.Is(err, errScan) {
			return answer, err
		}
	}
	err = p.once(ctx, pool, func(db querier) error {
		answer, err = scanClaim(ctx, db, text, args)
		return err
	})
	return answer, err
}

func (p *postgres) claimStatement(q claimQuery) (string, []any) {
	text, args := p.sql.claim, p.claimArgs(q)
	switch {
	case q.Suspect:
		text = p.sql.claimSuspect
	case q.PerKey > 0:
		text, args = p.sql.claimPerKey, append(args, q.PerKey)
	}
	return p.plans.text(text), args
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

func (p *postgres) claimArgs(q claimQuery) []any {
	n := len(q.lanes)
	lanes, epochs, nudges := make([]int, n), make([]int64, n), make([]int64, n)
	starts, rooms := make([]int64, n), make([]int, n)
	for i, l := range q.lanes {
		lanes[i], epochs[i], nudges[i] = l.lane, l.epoch, l.nudge
		starts[i], rooms[i] = l.start, l.room
	}
	ids, lows := q.open.bounds()
	return []any{
		q.Token.String(), q.Session.String(), q.Worker, q.Limit, int64(q.Bytes),
		intArray(lanes), intArray(epochs), intArray(nudges), intArray(starts), intArray(rooms),
		textArray(ids), intArray(lows),
	}
}

var errNoHeader = errors.New("the claim's header is not its first row")

// readHeader reads the first row, see pgClaim.
func readHeader(rows *sql.Rows) (claimAnswer, error) {
	var ord, low sql.NullInt64
	var snapshot, nudges sql.NullString
	var suspects, cut int
	var skip any
	err := rows.Scan(&ord, &skip, &low, &suspects, &cut, &skip, &skip, &skip, &skip, &skip, &skip, &snapshot, &nudges,
		&skip, &skip, &skip, &skip, &skip, &skip)
	if err != nil {
		return claimAnswer{}, fmt.Errorf("read the claim's header: %w", err)
	}
	if ord.Valid {
		return claimAnswer{}, errNoHeader
	}
	a := claimAnswer{snapshot: snapshot.String, suspects: suspects > 0, cut: cut > 0}
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
