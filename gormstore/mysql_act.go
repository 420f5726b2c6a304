package gormstore

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
)

const (
	myLanesOf = `SELECT DISTINCT lane FROM {messages} WHERE id IN ({ids})`
	myLockAll = `SELECT lane FROM {lanes} FORCE INDEX (PRIMARY) WHERE lane IN ({lanes_asked}) ORDER BY lane FOR UPDATE`
	myNudge   = `UPDATE {lanes} FORCE INDEX (PRIMARY) SET nudge = nudge + 1 WHERE lane IN ({lanes_asked})`

	myActed = "SELECT seq, lane, `key`" + ` FROM {messages} FORCE INDEX (id)
WHERE id IN ({ids}) AND lane IN ({lanes_asked}) AND state IN ({states}) ORDER BY seq FOR UPDATE`
	myAudit = "INSERT INTO {audit} (at, `by`, reason, act, message, topic, `key`)" + `
SELECT {now}, ?, ?, ?, id, topic, ` + "`key`" + ` FROM {messages} WHERE seq IN ({seqs})`

	myRequeue = `UPDATE {messages} FORCE INDEX (PRIMARY) SET state = 2, holds = ` + "`key`" + `, attempts = 0,
  failures = 0, crashes = 0, available_at = {now} WHERE seq IN ({seqs})`
	mySkip = `UPDATE {messages} FORCE INDEX (PRIMARY) SET state = 5, holds = NULL WHERE seq IN ({seqs})`
)

func (m *mysql) lockLanesOf(ctx context.Context, q querier, ids []uuid.UUID) ([]int, error) {
	lanes, err := collect[int](q.QueryContext(ctx, m.text(myLanesOf, "{ids}", idList(ids...))))
	if err != nil || len(lanes) == 0 {
		return nil, err
	}
	return collect[int](q.QueryContext(ctx, m.text(myLockAll, "{lanes_asked}", numberList(lanes))))
}

func (m *mysql) nudge(ctx context.Context, q querier, lanes []int) error {
	_, err := q.ExecContext(ctx, m.text(myNudge, "{lanes_asked}", numberList(lanes)))
	return err
}

// act locks the messages, records each of them, and then changes them.
func (m *mysql) act(ctx context.Context, q querier, o order) (acted, error) {
	change, states := map[verb]string{requeue: myRequeue, discard: myDelete, skip: mySkip}[o.verb], "3, 5"
	if o.verb == skip {
		states = "3"
	}
	seqs, did, err := readActedSeqs(q.QueryContext(ctx, m.text(myActed, "{ids}", idList(o.ids...),
		"{lanes_asked}", numberList(o.lanes), "{states}", states)))
	if err != nil || len(seqs) == 0 {
		return acted{}, err
	}
	list := numberList(seqs)
	if _, err := q.ExecContext(ctx, m.text(myAudit, "{seqs}", list), o.By, o.Reason, string(o.verb)); err != nil {
		return acted{}, err
	}
	_, err = q.ExecContext(ctx, m.text(change, "{seqs}", list))
	return did, err
}

// readActedSeqs reads the number, the lane and the key of each message.
func readActedSeqs(rows *sql.Rows, err error) (seqs []int64, did acted, _ error) {
	if err != nil {
		return nil, acted{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var lane int
		var key sql.NullString
		if err := rows.Scan(&seq, &lane, &key); err != nil {
			return nil, acted{}, err
		}
		seqs = append(seqs, seq)
		did.add(lane, key)
	}
	return seqs, did.once(), rows.Err()
}
