package gormstore

import (
	"database/sql"
	"fmt"
)

// readRow reads one claimed message, where NULL is what nearly every message has. Headers that cannot be read make it
// broken, not the claim.
func readRow(rows *sql.Rows) (*storedRow, error) {
	r := &storedRow{}
	m := &r.message
	r.Message = m
	var key, transport, tenant sql.NullString
	var stateOf, attempts, failures, crashes, version, wide sql.Null[int]
	var available sql.NullTime
	var headers sql.RawBytes
	err := rows.Scan(&r.ord, &m.ID, &r.seq, &r.Lane, &stateOf, &attempts, &failures, &crashes, &version,
		&available, &m.CreatedAt, &m.Topic, &key, &m.Type, &m.ContentType, &transport, &tenant, &headers, &wide,
		&m.Payload)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	r.ord-- // WITH ORDINALITY counts from one
	r.state, r.Attempts, r.Failures, r.Crashes = state(stateOf.V), attempts.V, failures.V, crashes.V
	r.wide = wide.V
	m.Version, m.AvailableAt = max(version.V, 1), available.Time.UTC()
	m.CreatedAt = m.CreatedAt.UTC()
	m.Key, m.Transport, m.Tenant = key.String, transport.String, tenant.String
	m.Headers, r.broken = decodeHeaders(headers)
	return r, nil
}
