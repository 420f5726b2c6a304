package gormstore

import (
	"context"
	"fmt"

	"github.com/postroom/postroom/outbox"
)

const (
	litePutPause = `
INSERT INTO {pauses} (topic, key, lane, by, reason, at) VALUES (?, ?, ?, ?, ?, {now})
ON CONFLICT (topic, key) DO UPDATE SET by = excluded.by, reason = excluded.reason, at = excluded.at, ending = 0`

	liteEndPause    = `UPDATE {pauses} SET ending = 1 WHERE topic = ? AND key = ?`
	liteForgetPause = `DELETE FROM {pauses} WHERE topic = ? AND key = ? AND ending`
	liteEnding      = `SELECT topic, key FROM {pauses} WHERE ending ORDER BY topic, key`
	liteActive      = `SELECT topic, key, by, reason, at FROM {pauses} WHERE NOT ending ORDER BY topic, key`

	liteAuditScope = `
INSERT INTO {audit} (at, by, reason, act, message, topic, key) VALUES ({now}, ?, ?, ?, ?, ?, ?)`

	liteWakeAside = `
UPDATE {messages} SET available_at = {now} WHERE seq IN (SELECT seq {left} LIMIT ?5)`

	// liteLeft is what is set aside of a scope: what waits, or suspects.
	liteLeft = `FROM {messages} m
  WHERE m.state {in} AND m.available_at = {aside} AND (?1 = '' OR m.topic = ?2) AND (?3 = '' OR m.key = ?4)`
	liteAnyLeft = `SELECT EXISTS (SELECT 1 {waiting}) OR EXISTS (SELECT 1 {suspect})`

	liteNarrow   = `UPDATE {claims} SET ids = ? WHERE token = ?`
	liteSetAside = `UPDATE {messages} SET state = CASE state WHEN 4 THEN 4 ELSE 2 END, available_at = {aside}
WHERE id IN (SELECT value FROM json_each(?))`
)

func (l *sqlite) pauseSQL() pauseSQL { return l.sql.pause }

var liteAsideTime = fmt.Sprint(asideMicros)

func liteLeftIn(states string) string {
	return replaceAll(liteLeft, "{in}", states, "{aside}", liteAsideTime)
}

func liteWakes(render func(string) string) []string {
	wake := func(states string) string { return render(replaceAll(liteWakeAside, "{left}", liteLeftIn(states))) }
	return []string{wake(waitingStates), wake(suspectState)}
}

func (l *sqlite) wakeAside(ctx context.Context, q querier, scope outbox.Scope, limit int) (int, error) {
	return runAll(ctx, q, l.sql.wakeAside, scope.Topic, scope.Topic, scope.Key, scope.Key, limit)
}

func newLitePauseSQL(render func(string) string) pauseSQL {
	return pauseSQL{
		put: render(litePutPause), end: render(liteEndPause), forget: render(liteForgetPause), ending: render(liteEnding),
		active: render(liteActive), audit: render(liteAuditScope),
		left: render(replaceAll(
			liteAnyLeft, "{waiting}", liteLeftIn(waitingStates), "{suspect}", liteLeftIn(suspectState))),
	}
}

// freeze and share have nothing to do: the transaction is the only writer.
func (*sqlite) freeze(context.Context, querier, []int) error { return nil }

func (*sqlite) share(context.Context, querier, []int) error { return nil }

func (l *sqlite) aside(ctx context.Context, q querier, a asideOrder) (bool, error) {
	found, err := changed(q.ExecContext(ctx, l.sql.narrow, jsonArray(ids(a.kept)), a.token.String()))
	if err != nil || !found {
		return false, err
	}
	if _, err := q.ExecContext(ctx, l.sql.setAside, jsonArray(ids(a.aside))); err != nil || len(a.kept) > 0 {
		return true, err
	}
	return true, l.dropClaim(ctx, q, a.token)
}
