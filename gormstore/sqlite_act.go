package gormstore

import (
	"context"

	"github.com/google/uuid"
)

const (
	liteNudge = `UPDATE {lanes} SET nudge = nudge + 1 WHERE lane IN (SELECT value FROM json_each(?))`

	liteAside = ` WHERE id IN (SELECT value FROM json_each(?1)) AND state IN (3, 5)`
	liteHolds = ` WHERE id IN (SELECT value FROM json_each(?1)) AND state = 3`

	// liteAudit goes first, while there is still something to read.
	liteAudit = `INSERT INTO {audit} (at, by, reason, act, message, topic, key)
SELECT {now}, ?2, ?3, ?4, id, topic, key FROM {messages}`

	liteRequeue = `UPDATE {messages} SET state = 2, attempts = 0, failures = 0, crashes = 0, available_at = {now}` +
		liteAside + ` RETURNING lane, key`
	liteDiscard = `DELETE FROM {messages}` + liteAside + ` RETURNING lane, key`
	liteSkip    = `UPDATE {messages} SET state = 5` + liteHolds + ` RETURNING lane, key`
)

// lockLanesOf has nothing to do: the transaction is the only writer.
func (*sqlite) lockLanesOf(context.Context, querier, []uuid.UUID) ([]int, error) { return nil, nil }

func (l *sqlite) nudge(ctx context.Context, q querier, lanes []int) error {
	_, err := q.ExecContext(ctx, l.sql.nudge, jsonArray(lanes))
	return err
}

func (l *sqlite) act(ctx context.Context, q querier, o order) (acted, error) {
	ids := jsonArray(o.ids)
	if _, err := q.ExecContext(ctx, l.sql.audits[o.verb], ids, o.By, o.Reason, string(o.verb)); err != nil {
		return acted{}, err
	}
	return readActed(q.QueryContext(ctx, l.sql.acts[o.verb], ids))
}
