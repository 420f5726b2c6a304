package gormstore

import (
	"context"
	"database/sql"
	"slices"

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
	_, err := q.ExecContext(ctx, pgLockKey, slices.Compact(locks))
	return err
}

// pgInsert takes the transaction's id before the first number, which horizon.go needs. The WHERE matters: without it
// the planner throws the call away.
const pgInsert = `
INSERT INTO {messages} (id, lane, state, available_at, topic, key, type, version, content_type, transport, tenant,
  headers, payload)
SELECT u.id, u.lane, CASE WHEN u.due > extract(epoch FROM clock_timestamp()) * 1000000 THEN 1 ELSE 0 END,
  CASE WHEN u.due > 0 THEN 'epoch'::timestamptz + u.due * interval '1 microsecond' END,
  u.topic, nullif(u.key, ''), u.type, u.version, u.content_type, u.transport, u.tenant, u.headers, u.payload
FROM (SELECT pg_current_xact_id() AS x OFFSET 0) y,
  unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[],
    $9::text[], $10::text[], $11::bytea[], $12::bytea[]) WITH ORDINALITY
  AS u (id, lane, due, topic, key, type, version, content_type, transport, tenant, headers, payload, nth)
WHERE y.x IS NOT NULL
ORDER BY u.nth`

// pgInsertOne is pgInsert for a single message, which it stores twice as fast.
const pgInsertOne = `
INSERT INTO {messages} (id, lane, state, available_at, topic, key, type, version, content_type, transport, tenant,
  headers, payload)
SELECT $1::uuid, $2::smallint, CASE WHEN $3::bigint > extract(epoch FROM clock_timestamp()) * 1000000 THEN 1 ELSE 0 END,
  CASE WHEN $3::bigint > 0 THEN 'epoch'::timestamptz + $3::bigint * interval '1 microsecond' END,
  $4::text, nullif($5::text, ''), $6::text, $7::integer, $8::text, $9::text, $10::text, $11::bytea, $12::bytea
FROM (SELECT pg_current_xact_id() AS x OFFSET 0) y
WHERE y.x IS NOT NULL`

func (p *postgres) insert(ctx context.Context, q querier, rows []newRow) (int64, error) {
	if len(rows) == 1 {
		return p.insertOne(ctx, q, rows[0])
	}
	n := len(rows)
	ids, lanes, dues, versions := make([][16]byte, n), make([]int16, n), make([]int64, n), make([]int32, n)
	topics, keys, types, contents := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	transports, tenants := make([]string, n), make([]string, n)
	headers, payloads := make([][]byte, n), make([][]byte, n)
	for i, r := range rows {
		ids[i], lanes[i], dues[i], versions[i] = r.ID, int16(r.lane), r.due(), int32(r.Version)
		topics[i], keys[i], types[i], contents[i] = r.Topic, r.Key, r.Type, r.ContentType
		transports[i], tenants[i] = r.Transport, r.Tenant
		headers[i], payloads[i] = r.headers, r.Payload
	}
	result, err := q.ExecContext(ctx, p.sql.insert,
		ids, lanes, dues, topics, keys, types, versions, contents, transports, tenants, headers, payloads)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (p *postgres) insertOne(ctx context.Context, q querier, r newRow) (int64, error) {
	result, err := q.ExecContext(ctx, p.sql.insertOne, r.ID.String(), r.lane, r.due(), r.Topic, r.Key, r.Type, r.Version,
		r.ContentType, r.Transport, r.Tenant, r.headers, r.Payload)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
