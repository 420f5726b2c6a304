package gormstore

import (
	"context"
	"time"
)

const (
	myKeep = `INSERT INTO {archive} (delivered_at, {archived}) SELECT {now}, {archived} FROM {messages}
WHERE seq IN ({seqs}) ORDER BY seq`

	// myPast steps over rows that somebody else purges.
	myPast = `SELECT n FROM {archive} FORCE INDEX (delivered) WHERE delivered_at < {now} - ? ORDER BY delivered_at LIMIT ?
FOR UPDATE SKIP LOCKED`
	myPurgeArchive = `DELETE a FROM JSON_TABLE('[{ns}]', '$[*]' COLUMNS (n BIGINT PATH '$')) k
STRAIGHT_JOIN {archive} a FORCE INDEX (PRIMARY) ON a.n = k.n`
)

// keep copies messages into the archive, before they are deleted.
func (m *mysql) keep(ctx context.Context, q querier, seqs []int64) error {
	columns := replaceAll(archived, " key,", " `key`,")
	_, err := q.ExecContext(ctx, m.text(myKeep, "{archived}", columns, "{seqs}", numberList(seqs)))
	return err
}

func (m *mysql) purgeArchive(ctx context.Context, q querier, keep time.Duration, limit int) (int, error) {
	past, err := collect[int64](q.QueryContext(ctx, m.text(myPast), keep.Microseconds(), limit))
	if err != nil || len(past) == 0 {
		return 0, err
	}
	return count(q.ExecContext(ctx, m.text(myPurgeArchive, "{ns}", numberList(past))))
}
