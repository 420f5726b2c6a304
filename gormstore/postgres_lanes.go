package gormstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// pgJoin makes a session, or is its heartbeat while it lives.
const pgJoin = `
INSERT INTO {sessions} AS s (id, relay, expires_at)
VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
WHERE s.stopped_at IS NULL AND s.expires_at > clock_timestamp()`

func (p *postgres) join(ctx context.Context, q querier, r outbox.LaneRequest) (bool, error) {
	return changed(q.ExecContext(ctx, p.sql.join, r.Session.String(), r.Relay, r.Lease.Microseconds()))
}

const pgRenew = `
UPDATE {sessions} SET expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE id = $1 AND stopped_at IS NULL AND expires_at > clock_timestamp()`

func (p *postgres) renew(ctx context.Context, q querier, session uuid.UUID, lease time.Duration) (bool, error) {
	return changed(q.ExecContext(ctx, p.sql.renew, session.String(), lease.Microseconds()))
}

func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// pgBury waits for nobody: a session whose row is locked is alive, or somebody else buries it.
const pgBury = `
UPDATE {sessions} SET stopped_at = clock_timestamp()
WHERE id IN (SELECT id FROM {sessions} WHERE stopped_at IS NULL AND expires_at <= clock_timestamp()
  FOR UPDATE SKIP LOCKED)
RETURNING id`

func (p *postgres) bury(ctx context.Context, q querier) ([]uuid.UUID, error) {
	return collect[uuid.UUID](q.QueryContext(ctx, p.sql.bury))
}

const pgStop = `UPDATE {sessions} SET stopped_at = clock_timestamp() WHERE id = $1 AND stopped_at IS NULL`

func (p *postgres) stop(ctx context.Context, q querier, session uuid.UUID) error {
	_, err := q.ExecContext(ctx, p.sql.stop, session.String())
	return err
}

const pgFreeLanes = `
WITH f AS (SELECT lane FROM {lanes} WHERE owner = ANY ($1::uuid[]) ORDER BY lane FOR UPDATE)
UPDATE {lanes} l SET owner = NULL, epoch = l.epoch + 1 FROM f WHERE l.lane = f.lane`

func (p *postgres) freeLanes(ctx context.Context, q querier, sessions []uuid.UUID) error {
	_, err := q.ExecContext(ctx, p.sql.free, uuidArray(sessions))
	return err
}

// pgFold counts an attempt for each message of a claim that ended without a settle, and a crash if it was alone.
const pgFold = `
WITH c AS (DELETE FROM {claims} WHERE session = ANY ($1::uuid[]) RETURNING ids),
f AS (SELECT unnest(ids) AS id, (cardinality(ids) = 1)::integer AS alone FROM c)
UPDATE {messages} m
SET state = 4, attempts = m.attempts + 1, crashes = m.crashes + f.alone, uncertain = true,
  available_at = clock_timestamp()
FROM f
WHERE m.id = f.id AND m.id = ANY (ARRAY (SELECT id FROM f)) AND m.state IN (0, 1, 2, 4)
RETURNING m.lane, m.key`

func (p *postgres) fold(ctx context.Context, q querier, sessions []uuid.UUID) ([]laneKey, error) {
	rows, err := q.QueryContext(ctx, p.sql.fold, uuidArray(sessions))
	if err != nil {
		return nil, err
	}
	return collectKeys(rows)
}

// collectKeys reads distinct keys; messages without one have none.
func collectKeys(rows *sql.Rows) ([]laneKey, error) {
	defer rows.Close()
	seen := map[laneKey]bool{}
	var keys []laneKey
	for rows.Next() {
		var lane int
		var key sql.NullString
		if err := rows.Scan(&lane, &key); err != nil {
			return nil, err
		}
		k := laneKey{lane, key.String}
		if key.Valid && !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys, rows.Err()
}

// pgTable is lanes and the sessions that nobody has buried, in one snapshot.
const pgTable = `
SELECT lane::integer, owner, epoch, 0::bigint FROM {lanes}
UNION ALL
SELECT NULL, id, 0, (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
FROM {sessions} WHERE stopped_at IS NULL`

func (p *postgres) table(ctx context.Context, q querier) (laneTable, error) {
	return readTable(q.QueryContext(ctx, p.sql.table))
}

// readTable reads rows of lane, owner, epoch, and of NULL, session, -, microseconds left.
func readTable(rows *sql.Rows, err error) (laneTable, error) {
	if err != nil {
		return laneTable{}, err
	}
	defer rows.Close()
	t := laneTable{sessions: map[uuid.UUID]time.Duration{}}
	for rows.Next() {
		var lane sql.NullInt64
		var id uuid.NullUUID
		var epoch, left int64
		if err := rows.Scan(&lane, &id, &epoch, &left); err != nil {
			return laneTable{}, err
		}
		switch {
		case !lane.Valid && left <= 0:
			t.expired = append(t.expired, id.UUID)
			continue
		case !lane.Valid:
			t.sessions[id.UUID] = time.Duration(left) * time.Microsecond
			continue
		}
		for int(lane.Int64) >= len(t.owners) {
			t.owners, t.epochs = append(t.owners, uuid.Nil), append(t.epochs, 0)
		}
		t.owners[lane.Int64], t.epochs[lane.Int64] = id.UUID, epoch
	}
	return t, rows.Err()
}

const pgLockLanes = `SELECT count(*) FROM (
  SELECT FROM {lanes} WHERE owner = $1 AND lane = ANY ($2::smallint[]) ORDER BY lane FOR UPDATE) l`

func (p *postgres) lockLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) error {
	_, err := q.ExecContext(ctx, p.sql.lock, session.String(), intArray(lanes))
	return err
}

// pgGiveBack runs after pgLockLanes: no claim of these lanes is running, and its snapshot sees all that there are.
const pgGiveBack = `
UPDATE {lanes} l SET owner = NULL, epoch = l.epoch + 1
WHERE l.owner = $1 AND l.lane = ANY ($2::smallint[]) AND l.lane NOT IN (
  SELECT m.lane FROM {claims} c CROSS JOIN LATERAL unnest(c.ids) AS i (id) JOIN {messages} m ON m.id = i.id
  WHERE c.session = $1)
RETURNING l.lane`

func (p *postgres) giveBack(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]int, error) {
	return collect[int](q.QueryContext(ctx, p.sql.giveBack, session.String(), intArray(lanes)))
}

const pgTakeLanes = `
WITH f AS (SELECT lane FROM {lanes} WHERE owner IS NULL AND lane = ANY ($2::smallint[]) ORDER BY lane
  FOR UPDATE SKIP LOCKED)
UPDATE {lanes} l SET owner = $1, epoch = l.epoch + 1 FROM f WHERE l.lane = f.lane
RETURNING l.lane, l.epoch`

func (p *postgres) takeLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]outbox.Lease, error) {
	return readLeases(q.QueryContext(ctx, p.sql.take, session.String(), intArray(lanes)))
}

func readLeases(rows *sql.Rows, err error) ([]outbox.Lease, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var leases []outbox.Lease
	for rows.Next() {
		var l outbox.Lease
		if err := rows.Scan(&l.Lane, &l.Epoch); err != nil {
			return nil, err
		}
		leases = append(leases, l)
	}
	return leases, rows.Err()
}

const pgRaiseEpochs = `
WITH f AS (SELECT lane FROM {lanes} WHERE owner = $1 AND lane = ANY ($2::smallint[]) ORDER BY lane FOR UPDATE)
UPDATE {lanes} l SET epoch = l.epoch + 1 FROM f WHERE l.lane = f.lane`

func (p *postgres) raiseEpochs(ctx context.Context, q querier, session uuid.UUID, lanes []int) error {
	_, err := q.ExecContext(ctx, p.sql.raise, session.String(), intArray(lanes))
	return err
}

const pgDropClaim = `DELETE FROM {claims} WHERE token = $1`

func (p *postgres) dropClaim(ctx context.Context, q querier, token uuid.UUID) error {
	_, err := q.ExecContext(ctx, p.sql.drop, token.String())
	return err
}

// pgPrune forgets sessions that ended a week ago.
const pgPrune = `
DELETE FROM {sessions} WHERE id IN (
  SELECT id FROM {sessions} WHERE stopped_at < clock_timestamp() - interval '7 days' FOR UPDATE SKIP LOCKED)`

func (p *postgres) prune(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, p.sql.prune)
	return err
}

// collect reads one column.
func collect[T any](rows *sql.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var values []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}
