package gormstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// begun has nothing to do: PostgreSQL waits for rows, not for the database.
func (*postgres) begun(context.Context, querier, []*sql.TxOptions) error { return nil }

func (*postgres) commit(_ context.Context, tx gorm.Tx) error { return tx.Commit() }

const pgLockKey = `SELECT pg_advisory_xact_lock(u.h) FROM unnest($1::bigint[]) AS u (h)`

// lockKeys takes a lock for each key until the transaction ends, in one order for everybody.
func (p *postgres) lockKeys(ctx context.Context, q querier, rows []newRow) error {
	var locks []int64
	for _, r := range rows {
		if r.Key != "" {
			locks = append(locks, hash64(p.names.schema, p.names.prefix, r.Key))
		}
	}
	if len(locks) == 0 {
		return nil
	}
	slices.Sort(locks)
	_, err := q.ExecContext(ctx, pgLockKey, intArray(slices.Compact(locks)))
	return err
}

// pgInsert takes the transaction's id before the first number, which horizon.go needs. The WHERE matters: without it
// the planner throws the call away.
// Headers and payloads come as one string of bytes, each message's at its place: an array of them would double their
// size, in hexadecimal digits.
const pgInsert = `
INSERT INTO {messages} (id, lane, state, available_at, topic, key, type, version, content_type, transport, tenant,
  headers, payload)
SELECT u.id, u.lane, CASE WHEN u.due > extract(epoch FROM clock_timestamp()) * 1000000 THEN 1 ELSE 0 END,
  CASE WHEN u.due > 0 THEN 'epoch'::timestamptz + u.due * interval '1 microsecond' END,
  u.topic, nullif(u.key, ''), u.type, u.version, u.content_type, u.transport, u.tenant,
  CASE WHEN u.headers > 0 THEN substring($14::bytea FROM u.place FOR u.headers) END,
  CASE WHEN u.payload >= 0 THEN substring($14::bytea FROM u.place + u.headers FOR u.payload) END
FROM (SELECT pg_current_xact_id() AS x OFFSET 0) y,
  unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[],
    $9::text[], $10::text[], $11::integer[], $12::integer[], $13::integer[]) WITH ORDINALITY
  AS u (id, lane, due, topic, key, type, version, content_type, transport, tenant, place, headers, payload, nth)
WHERE y.x IS NOT NULL
ORDER BY u.nth`

// pgInsertOne is pgInsert for a single message. A WHERE without a table is looked at once, before anything is made of
// the row. Nothing in it is volatile, so that it runs as one step of a plan instead of three; the clock is the
// statement's, and asked for a message with a time alone.
const pgInsertOne = `
INSERT INTO {messages} (id, lane, state, available_at, topic, key, type, version, content_type, transport, tenant,
  headers, payload)
SELECT $1::uuid, $2::smallint,
  CASE WHEN $3::bigint > 0 AND $3::bigint > extract(epoch FROM statement_timestamp()) * 1000000 THEN 1 ELSE 0 END,
  CASE WHEN $3::bigint > 0 THEN 'epoch'::timestamptz + $3::bigint * interval '1 microsecond' END,
  $4::text, nullif($5::text, ''), $6::text, $7::integer, $8::text, $9::text, $10::text, $11::bytea, $12::bytea
WHERE pg_current_xact_id() IS NOT NULL`

func (p *postgres) insert(ctx context.Context, q querier, rows []newRow) (int64, error) {
	text, args := p.sql.insert, []any(nil)
	if len(rows) == 1 {
		text, args = p.sql.insertOne, pgRow(rows[0])
	} else {
		args = pgRows(rows)
	}
	result, err := q.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func pgRow(r newRow) []any {
	return []any{
		r.ID.String(), r.lane, r.due(), r.Topic, r.Key, r.Type, r.Version, r.ContentType, r.Transport, r.Tenant,
		blob(r.headers), blob(r.Payload),
	}
}

func pgRows(rows []newRow) []any {
	n, size := len(rows), 0
	for _, r := range rows {
		size += len(r.headers) + len(r.Payload)
	}
	ids, dues, bytes := make([]uuid.UUID, n), make([]int64, n), make([]byte, 0, size)
	lanes, versions := make([]int, n), make([]int, n)
	places, headers, payloads := make([]int, n), make([]int, n), make([]int, n)
	for i, r := range rows {
		ids[i], lanes[i], dues[i], versions[i] = r.ID, r.lane, r.due(), r.Version
		places[i], headers[i], payloads[i] = len(bytes)+1, len(r.headers), len(r.Payload)
		if r.Payload == nil {
			payloads[i] = -1
		}
		bytes = append(append(bytes, r.headers...), r.Payload...)
	}
	texts := func(field func(r newRow) string) string {
		values := make([]string, n)
		for i, r := range rows {
			values[i] = field(r)
		}
		return textArray(values)
	}
	return []any{
		uuidArray(ids), intArray(lanes), intArray(dues), texts(func(r newRow) string { return r.Topic }),
		texts(func(r newRow) string { return r.Key }), texts(func(r newRow) string { return r.Type }), intArray(versions),
		texts(func(r newRow) string { return r.ContentType }), texts(func(r newRow) string { return r.Transport }),
		texts(func(r newRow) string { return r.Tenant }), intArray(places), intArray(headers), intArray(payloads), bytes,
	}
}
