package gormstore

import (
	"context"

	"github.com/google/uuid"
)

const (
	pgLockLanesOf = `
SELECT lane FROM {lanes} WHERE lane IN (SELECT lane FROM {messages} WHERE id = ANY ($1::uuid[]))
ORDER BY lane FOR UPDATE`

	pgNudge = `UPDATE {lanes} SET nudge = nudge + 1 WHERE lane = ANY ($1::smallint[])`

	// pgAct changes the messages and records each of them in one statement.
	pgAct = `
WITH u AS ({change} RETURNING m.id, m.lane, m.topic, m.key),
a AS (INSERT INTO {audit} (by, reason, act, message, topic, key) SELECT $3, $4, $5, id, topic, key FROM u)
SELECT lane, key FROM u`

	// pgListed adds nothing to the state, which keeps the index of all that is parked out of the plan.
	pgListed  = ` WHERE m.id = ANY ($1::uuid[]) AND m.lane = ANY ($2::smallint[]) AND m.state + 0 `
	pgRequeue = `UPDATE {messages} m
  SET state = 2, attempts = 0, failures = 0, crashes = 0, available_at = clock_timestamp()` + pgListed + `IN (3, 5)`
	pgDiscard = `DELETE FROM {messages} m` + pgListed + `IN (3, 5)`
	pgSkip    = `UPDATE {messages} m SET state = 5` + pgListed + `= 3`
)

func (p *postgres) lockLanesOf(ctx context.Context, q querier, ids []uuid.UUID) ([]int, error) {
	return collect[int](q.QueryContext(ctx, p.sql.lockOf, uuidArray(ids)))
}

func (p *postgres) nudge(ctx context.Context, q querier, lanes []int) error {
	_, err := q.ExecContext(ctx, p.sql.nudge, intArray(lanes))
	return err
}

func (p *postgres) act(ctx context.Context, q querier, o order) (acted, error) {
	return readActed(q.QueryContext(ctx, p.sql.acts[o.verb], uuidArray(o.ids), intArray(o.lanes), o.By, o.Reason,
		string(o.verb)))
}
