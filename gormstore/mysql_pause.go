package gormstore

import (
	"context"
	"fmt"

	"github.com/postroom/postroom/outbox"
)

const (
	myPutPause = "INSERT INTO {pauses} (topic, `key`, lane, `by`, reason, at) VALUES (?, ?, ?, ?, ?, {now})" + `
ON DUPLICATE KEY UPDATE ` + "`by` = VALUES(`by`), reason = VALUES(reason), at = VALUES(at), ending = FALSE"

	myEndPause    = "UPDATE {pauses} SET ending = TRUE WHERE topic = ? AND `key` = ?"
	myForgetPause = "DELETE FROM {pauses} WHERE topic = ? AND `key` = ? AND ending"
	myEnding      = "SELECT topic, `key` FROM {pauses} WHERE ending ORDER BY topic, `key`"
	myActive      = "SELECT topic, `key`, `by`, reason, at FROM {pauses} WHERE NOT ending ORDER BY topic, `key`"

	myAuditScope = "INSERT INTO {audit} (at, `by`, reason, act, message, topic, `key`)" + `
VALUES ({now}, ?, ?, ?, UNHEX(REPLACE(?, '-', '')), ?, ?)`

	// myAside finds what was set aside, and steps over what another end of a pause is making due.
	myAside = `SELECT seq ` + myLeft + ` LIMIT ? FOR UPDATE SKIP LOCKED`
	myLeft  = `FROM {messages} FORCE INDEX (due)
WHERE state IN (1, 2, 4) AND lane IN (SELECT lane FROM {lanes}) AND available_at = {aside}
  AND (? = '' OR topic = ?) AND (? = '' OR ` + "`key`" + ` = ?)`
	myAnyLeft   = `SELECT EXISTS (SELECT 1 ` + myLeft + `)`
	myWakeAside = `UPDATE {messages} FORCE INDEX (PRIMARY) SET available_at = {now} WHERE seq IN ({seqs})`

	myNarrow   = `UPDATE {claims} FORCE INDEX (PRIMARY) SET seqs = '[{seqs}]' WHERE token = {token}`
	mySetAside = `UPDATE {messages} FORCE INDEX (PRIMARY)
SET state = CASE state WHEN 4 THEN 4 ELSE 2 END, holds = ` + "`key`" + `, available_at = {aside} WHERE seq IN ({seqs})`
)

func (m *mysql) pauseSQL() pauseSQL {
	return pauseSQL{
		put: m.text(myPutPause), end: m.text(myEndPause), forget: m.text(myForgetPause), ending: m.text(myEnding),
		active: m.text(myActive), audit: m.text(myAuditScope),
		left: m.text(myAnyLeft, "{aside}", fmt.Sprint(asideMicros)),
	}
}

func (m *mysql) freeze(ctx context.Context, q querier, lanes []int) error {
	_, err := collect[int](q.QueryContext(ctx, m.text(myLockAll, "{lanes_asked}", numberList(lanes))))
	return err
}

func (m *mysql) share(ctx context.Context, q querier, lanes []int) error {
	_, err := collect[int](q.QueryContext(ctx, m.text(myShareLanes, "{lanes_changed}", numberList(lanes))))
	return err
}

func (m *mysql) wakeAside(ctx context.Context, q querier, scope outbox.Scope, limit int) (int, error) {
	seqs, err := collect[int64](q.QueryContext(ctx, m.text(myAside, "{aside}", fmt.Sprint(asideMicros)),
		scope.Topic, scope.Topic, scope.Key, scope.Key, limit))
	if err != nil || len(seqs) == 0 {
		return 0, err
	}
	return count(q.ExecContext(ctx, m.text(myWakeAside, "{seqs}", numberList(seqs))))
}

func (m *mysql) aside(ctx context.Context, q querier, a asideOrder) (bool, error) {
	if len(a.kept) == 0 {
		found, err := changed(q.ExecContext(ctx, m.text(myDropClaim, "{token}", idList(a.token))))
		if err != nil || !found {
			return false, err
		}
	} else {
		text := m.text(myNarrow, "{token}", idList(a.token), "{seqs}", numberList(seqsOf(a.kept)))
		if found, err := changed(q.ExecContext(ctx, text)); err != nil || !found {
			return false, err
		}
	}
	if len(a.aside) == 0 {
		return true, nil
	}
	text := m.text(mySetAside, "{aside}", fmt.Sprint(asideMicros), "{seqs}", numberList(seqsOf(a.aside)))
	_, err := q.ExecContext(ctx, text)
	return true, err
}

func seqsOf(rows []*storedRow) []int64 {
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.seq
	}
	return seqs
}
