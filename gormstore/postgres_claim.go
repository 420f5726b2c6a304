package gormstore

import (
	"context"
	"database/sql"
)

// A claim reads first, and then records what it has read. The read locks and writes nothing, so that one that finds
// nothing costs nothing but itself. What may have happened since is seen when the claim is recorded, under the locks of
// its lanes: whoever takes a lane raises its epoch, and an operator who acts there raises its nudge. Either way nothing
// is recorded, and the claim reads again.

// claimTries bounds how often a claim reads; each further time somebody was quicker.
const claimTries = 3

// pgPut locks the lanes against their loss.
const pgPut = `
WITH mine AS MATERIALIZED (
  SELECT l.lane
  FROM {lanes} l
  JOIN unnest($4::smallint[], $5::bigint[], $6::bigint[]) AS w (lane, epoch, nudge) ON w.lane = l.lane
  WHERE l.owner = $2 AND l.epoch = w.epoch AND l.nudge = w.nudge AND EXISTS (
    SELECT FROM {sessions} s WHERE s.id = $2 AND s.stopped_at IS NULL AND s.expires_at > clock_timestamp())
  ORDER BY l.lane
  FOR SHARE OF l
)
INSERT INTO {claims} (token, session, worker, ids)
SELECT $1::uuid, $2::uuid, $3::integer, $7::uuid[]
WHERE (SELECT count(*) FROM mine) = cardinality($4::smallint[])`

func (p *postgres) claim(ctx context.Context, pool *sql.DB, q claimQuery) (claimAnswer, error) {
	for range claimTries {
		a, err := p.read(ctx, pool, q)
		if err != nil || len(a.rows) == 0 {
			return a, err
		}
		a.bound(q.Bytes)
		whole, err := p.readWide(ctx, pool, a.rows)
		if err != nil {
			return claimAnswer{}, err
		}
		if !whole {
			continue
		}
		recorded, err := p.put(ctx, pool, q, a)
		if err != nil || recorded {
			return a, err
		}
	}
	return claimAnswer{refused: true}, nil // and holds no lane: the next claim reads them all from their start
}

// room is the whole batch: lanes that a full one leaves out come first in the next.
func (*postgres) room(q claimQuery) int {
	if q.PerKey > 0 {
		return q.fairRoom()
	}
	return q.Limit
}

// bound ends the batch before the message that would exceed it. The first one always fits.
func (a *claimAnswer) bound(most int) {
	bytes := 0
	for i, r := range a.rows {
		if bytes += len(r.message.Payload) + r.wide; bytes > most && i > 0 {
			clear(a.rows[i:])
			a.rows, a.cut = a.rows[:i], true
			return
		}
	}
}

// put records the claim, and reports whether its lanes were as they were read.
func (p *postgres) put(ctx context.Context, pool *sql.DB, q claimQuery, a claimAnswer) (recorded bool, err error) {
	var lanes []int
	var epochs, nudges []int64
	last := -1
	for _, r := range a.rows {
		if r.ord != last {
			last = r.ord
			l := q.lanes[last]
			lanes, epochs, nudges = append(lanes, l.lane), append(epochs, l.epoch), append(nudges, a.nudges[l.lane])
		}
	}
	err = p.once(ctx, pool, func(db querier) error {
		recorded, err = changed(db.ExecContext(ctx, p.sql.put, q.Token.String(), q.Session.String(), q.Worker,
			intArray(lanes), intArray(epochs), intArray(nudges), uuidArray(ids(a.rows))))
		return err
	})
	return recorded, err
}
