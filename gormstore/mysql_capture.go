package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// begun has nothing to do: InnoDB waits for rows, not for the database.
func (*mysql) begun(context.Context, querier, []*sql.TxOptions) error { return nil }

func (*mysql) commit(_ context.Context, tx gorm.Tx) error { return tx.Commit() }

const (
	keySlots  = 1024 // rows of {keys}
	myLockKey = `SELECT slot FROM {keys} FORCE INDEX (PRIMARY) WHERE slot IN ({slots}) ORDER BY slot FOR UPDATE`
)

// lockKeys takes a row for each key until the transaction ends, in one order for everybody. Keys may share a row.
func (m *mysql) lockKeys(ctx context.Context, q querier, rows []newRow) error {
	var slots []int
	for _, r := range rows {
		if r.Key != "" {
			slots = append(slots, int(uint64(hash64(r.Key))%keySlots))
		}
	}
	if len(slots) == 0 {
		return nil
	}
	slices.Sort(slots)
	locked, err := collect[int](q.QueryContext(ctx, m.text(myLockKey, "{slots}", numberList(slices.Compact(slots)))))
	if err == nil && len(locked) == 0 {
		return errors.New("the table of key locks is empty")
	}
	return err
}

// myInsert is an INSERT … SELECT even for one message: those take their numbers one after another, see mysql_late.go.
const (
	myInsert = `INSERT INTO {messages} (id, lane, state, available_at, created_at, topic, ` + "`key`" + `, type, version,
  content_type, transport, tenant, headers, payload, bytes)
`
	// A UNION would take bytes for text of the connection's character set, and cut the blanks at the end of texts.
	myInsertRow = `SELECT CAST(? AS BINARY), ?, ? > {now}, nullif(?, 0), {now}, CAST(? AS BINARY),
  CAST(? AS BINARY), CAST(? AS BINARY), ?, CAST(? AS BINARY), CAST(? AS BINARY), CAST(? AS BINARY),
  CAST(? AS BINARY), CAST(? AS BINARY), ?`
	myInsertMax = 200 // rows; a longer UNION takes more time for each
)

func (m *mysql) insert(ctx context.Context, q querier, rows []newRow) (stored int64, err error) {
	for len(rows) > 0 {
		n := m.insertable(rows)
		did, err := m.insertGuarded(ctx, q, rows[:n])
		if err != nil {
			return stored, err
		}
		stored, rows = stored+did, rows[n:]
	}
	return stored, nil
}

// insertable is how many of rows, at least one, fit into one statement: into a packet, even when the driver writes
// arguments into the text, where a byte may take two.
func (m *mysql) insertable(rows []newRow) int {
	size, packet := 0, int(m.packet.Load())/2
	for i, r := range rows {
		size += r.size() + 512 // of the statement's text
		if i > 0 && (i == myInsertMax || size > packet) {
			return i
		}
	}
	return len(rows)
}

func (m *mysql) insertGuarded(ctx context.Context, q querier, rows []newRow) (n int64, err error) {
	if !m.guard.Load() {
		return m.insertRows(ctx, q, rows)
	}
	if err := m.lock(ctx, q, "messages", 60); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.unlock(ctx, q, "messages")) }()
	return m.insertRows(ctx, q, rows)
}

func (m *mysql) insertRows(ctx context.Context, q querier, rows []newRow) (int64, error) {
	text := m.text(myInsert + myInsertRow + strings.Repeat("\nUNION ALL "+myInsertRow, len(rows)-1))
	args := make([]any, 0, 14*len(rows))
	for _, r := range rows {
		var key any // which NULLIF would lose if it were of blanks alone
		if r.Key != "" {
			key = r.Key
		}
		args = append(args, r.ID[:], r.lane, r.due(), r.due(), r.Topic, key, r.Type, r.Version, r.ContentType,
			r.Transport, r.Tenant, blob(r.headers), blob(r.Payload), len(r.Payload))
	}
	result, err := q.ExecContext(ctx, text, args...)
	if err != nil {
		if pool, ok := q.(gorm.ConnPool); ok { // prepared statements go past the hook
			lostBy(pool, err, true)
		}
		return 0, err
	}
	return result.RowsAffected()
}
