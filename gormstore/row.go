package gormstore

import (
	"database/sql"
	"fmt"
)

// readRow reads one claimed message. Headers that cannot be read make it broken, not the claim.
func readRow(rows *sql.Rows) (*storedRow, error) {
	r := &storedRow{}
	m := &r.message
	r.Message = m
	var key sql.NullString
	var available sql.NullTime
	var headers sql.RawBytes
	err := rows.Scan(&r.ord, &m.ID, &r.seq, &r.Lane, &r.state, &r.Attempts, &r.Failures, &r.Crashes, &m.Version,
		&available, &m.CreatedAt, &m.Topic, &key, &m.Type, &m.ContentType, &m.Transport, &m.Tenant, &headers, &m.Payload)
	if err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	r.ord-- // WITH ORDINALITY counts from one
	m.Key, m.AvailableAt = key.String, available.Time
	m.Headers, r.broken = decodeHeaders(headers)
	return r, nil
}
