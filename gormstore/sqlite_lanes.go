package gormstore

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

const (
	liteJoin = `
INSERT INTO {sessions} (id, relay, started_at, expires_at) VALUES (?1, ?2, {now}, {now} + ?3)
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
WHERE stopped_at IS NULL AND {sessions}.expires_at > {now}`
	liteRenew = `UPDATE {sessions} SET expires_at = {now} + ?2
WHERE id = ?1 AND stopped_at IS NULL AND expires_at > {now}`
	liteBury = `UPDATE {sessions} SET stopped_at = {now} WHERE stopped_at IS NULL AND expires_at <= {now} RETURNING id`
	liteStop = `UPDATE {sessions} SET stopped_at = {now} WHERE id = ? AND stopped_at IS NULL`
)

func (l *sqlite) join(ctx context.Context, q querier, r outbox.LaneRequest) (bool, error) {
	return changed(q.ExecContext(ctx, l.sql.join, r.Session.String(), r.Relay, r.Lease.Microseconds()))
}

func (l *sqlite) renew(ctx context.Context, q querier, session uuid.UUID, lease time.Duration) (bool, error) {
	return changed(q.ExecContext(ctx, l.sql.renew, session.String(), lease.Microseconds()))
}

func (l *sqlite) bury(ctx context.Context, q querier) ([]uuid.UUID, error) {
	return collect[uuid.UUID](q.QueryContext(ctx, l.sql.bury))
}

func (l *sqlite) stop(ctx context.Context, q querier, session uuid.UUID) error {
	_, err := q.ExecContext(ctx, l.sql.stop, session.String())
	return err
}

const (
	liteFreeLanes = `UPDATE {lanes} SET owner = NULL, epoch = epoch + 1
WHERE owner IN (SELECT value FROM json_each(?))`

	liteClaimed    = `SELECT ids FROM {claims} WHERE session IN (SELECT value FROM json_each(?))`
	liteDropClaims = `DELETE FROM {claims} WHERE session IN (SELECT value FROM json_each(?))`

	// liteFold counts an attempt for each message of a claim that ended without a settle, and a crash if it was alone.
	liteFold = `
UPDATE {messages} SET state = 4, attempts = attempts + 1, crashes = crashes + (json_array_length(?1) = 1),
  uncertain = 1, available_at = {now}
WHERE id IN (SELECT value FROM json_each(?1)) AND state IN (0, 1, 2, 4)
RETURNING lane, key`
)

func (l *sqlite) freeLanes(ctx context.Context, q querier, sessions []uuid.UUID) error {
	_, err := q.ExecContext(ctx, l.sql.freeLanes, jsonArray(sessions))
	return err
}

func (l *sqlite) fold(ctx context.Context, q querier, sessions []uuid.UUID) ([]laneKey, error) {
	claims, err := collect[string](q.QueryContext(ctx, l.sql.claimed, jsonArray(sessions)))
	if err != nil {
		return nil, err
	}
	var keys []laneKey
	for _, claim := range claims {
		rows, err := q.QueryContext(ctx, l.sql.fold, claim)
		if err != nil {
			return nil, err
		}
		folded, err := collectKeys(rows)
		if err != nil {
			return nil, err
		}
		keys = append(keys, folded...)
	}
	_, err = q.ExecContext(ctx, l.sql.dropClaims, jsonArray(sessions))
	return keys, err
}

const (
	liteTable = `
SELECT lane, owner, epoch, 0 FROM {lanes}
UNION ALL
SELECT NULL, id, 0, expires_at - {now} FROM {sessions} WHERE stopped_at IS NULL`

	liteGiveBack = `
UPDATE {lanes} SET owner = NULL, epoch = epoch + 1
WHERE owner = ?1 AND lane IN (SELECT value FROM json_each(?2)) AND lane NOT IN (
  SELECT m.lane FROM {claims} c, json_each(c.ids) i JOIN {messages} m ON m.id = i.value WHERE c.session = ?1)
RETURNING lane`

	liteTakeLanes = `
UPDATE {lanes} SET owner = ?1, epoch = epoch + 1
WHERE owner IS NULL AND lane IN (SELECT value FROM json_each(?2))
RETURNING lane, epoch`

	liteRaiseEpochs = `UPDATE {lanes} SET epoch = epoch + 1
WHERE owner = ?1 AND lane IN (SELECT value FROM json_each(?2))`

	// litePrune forgets sessions that ended a week ago.
	litePrune = `DELETE FROM {sessions} WHERE stopped_at < {now} - 7 * 86400 * 1000000`
)

func (l *sqlite) table(ctx context.Context, q querier) (laneTable, error) {
	return readTable(q.QueryContext(ctx, l.sql.table))
}

// lockLanes has nothing to do: the transaction is the only writer.
func (*sqlite) lockLanes(context.Context, querier, uuid.UUID, []int) error { return nil }

func (l *sqlite) giveBack(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]int, error) {
	return collect[int](q.QueryContext(ctx, l.sql.giveBack, session.String(), jsonArray(lanes)))
}

func (l *sqlite) takeLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]outbox.Lease, error) {
	return readLeases(q.QueryContext(ctx, l.sql.take, session.String(), jsonArray(lanes)))
}

func (l *sqlite) raiseEpochs(ctx context.Context, q querier, session uuid.UUID, lanes []int) error {
	_, err := q.ExecContext(ctx, l.sql.raise, session.String(), jsonArray(lanes))
	return err
}

func (l *sqlite) prune(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, l.sql.prune)
	return err
}
