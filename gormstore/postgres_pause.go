package gormstore

import (
	"context"

	"github.com/postroom/postroom/outbox"
)

const pgAsideTime = `timestamptz '9999-01-01 00:00:00+00'`

const (
	pgFreeze = `SELECT count(*) FROM (SELECT FROM {lanes} WHERE lane = ANY ($1::smallint[]) ORDER BY lane FOR UPDATE) l`

	pgPutPause = `
INSERT INTO {pauses} AS p (topic, key, lane, by, reason) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (topic, key) DO UPDATE
SET by = excluded.by, reason = excluded.reason, at = clock_timestamp(), ending = false`

	pgEndPause    = `UPDATE {pauses} SET ending = true WHERE topic = $1 AND key = $2`
	pgForgetPause = `DELETE FROM {pauses} WHERE topic = $1 AND key = $2 AND ending`
	pgEnding      = `SELECT topic, key FROM {pauses} WHERE ending ORDER BY topic, key`
	pgActive      = `SELECT topic, key, by, reason, {at} FROM {pauses} WHERE NOT ending ORDER BY topic COLLATE "C", key`

	pgAuditScope = `INSERT INTO {audit} (by, reason, act, message, topic, key) VALUES ($1, $2, $3, $4, $5, $6)`

	// pgWakeAside steps over rows that another end of a pause is making due.
	pgWakeAside = `
UPDATE {messages} SET available_at = clock_timestamp() WHERE id = ANY (ARRAY (
  SELECT m.id {left} LIMIT $5 FOR UPDATE OF m SKIP LOCKED))`

	// pgLeft is what is set aside of a scope: what waits, or suspects.
	pgLeft = `FROM {lanes} l JOIN {messages} m ON m.lane = l.lane
  WHERE m.state {in} AND m.available_at = {aside} AND ($1 = '' OR m.topic = $2) AND ($3 = '' OR m.key = $4)`
	pgAnyLeft = `SELECT EXISTS (SELECT {waiting}) OR EXISTS (SELECT {suspect})`

	// pgAside keeps suspects what they are; anything else waits as for a retry.
	pgAside = `
WITH c AS (UPDATE {claims} SET ids = $2::uuid[] WHERE token = $1 RETURNING 1),
m AS (
  UPDATE {messages} SET state = CASE state WHEN 4 THEN 4 ELSE 2 END, available_at = {aside}
  WHERE EXISTS (SELECT FROM c) AND id = ANY ($3::uuid[])
)
SELECT count(*) FROM c`
)

func (p *postgres) pauseSQL() pauseSQL { return p.sql.pause }

func pgLeftIn(states string) string {
	return replaceAll(pgLeft, "{in}", states, "{aside}", pgAsideTime)
}

func pgWakes(render func(string) string) []string {
	wake := func(states string) string { return render(replaceAll(pgWakeAside, "{left}", pgLeftIn(states))) }
	return []string{wake(waitingStates), wake(suspectState)}
}

func newPgPauseSQL(render func(string) string) pauseSQL {
	return pauseSQL{
		put: render(pgPutPause), end: render(pgEndPause), forget: render(pgForgetPause), ending: render(pgEnding),
		active: render(replaceAll(pgActive, "{at}", microseconds("at"))), audit: render(pgAuditScope),
		left: render(replaceAll(pgAnyLeft, "{waiting}", pgLeftIn(waitingStates), "{suspect}", pgLeftIn(suspectState))),
	}
}

func (p *postgres) freeze(ctx context.Context, q querier, lanes []int) error {
	_, err := q.ExecContext(ctx, p.sql.freeze, intArray(lanes))
	return err
}

func (p *postgres) share(ctx context.Context, q querier, lanes []int) error {
	_, err := q.ExecContext(ctx, p.sql.share, intArray(lanes))
	return err
}

func (p *postgres) wakeAside(ctx context.Context, q querier, scope outbox.Scope, limit int) (int, error) {
	return runAll(ctx, q, p.sql.wakeAside, scope.Topic, scope.Topic, scope.Key, scope.Key, limit)
}

func (p *postgres) aside(ctx context.Context, q querier, a asideOrder) (bool, error) {
	var n int
	row := q.QueryRowContext(ctx, p.sql.aside, a.token.String(), uuidArray(ids(a.kept)), uuidArray(ids(a.aside)))
	if err := row.Scan(&n); err != nil || n == 0 {
		return false, err
	}
	if len(a.kept) > 0 {
		return true, nil
	}
	return true, p.dropClaim(ctx, q, a.token)
}
