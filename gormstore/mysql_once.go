package gormstore

import (
	"context"
	"database/sql"
)

// These statements name an index, or join, for the reason that mysql_settle.go gives.
const (
	myFindKey = `SELECT owner, fingerprint, answer FROM {idempotency} WHERE sum = ? AND expires_at > {now}`

	// myTakeKey assigns from left to right, and what decides last.
	myTakeKey = `
INSERT INTO {idempotency} (sum, owner, fingerprint, expires_at) VALUES (?, ?, ?, {now} + ?)
ON DUPLICATE KEY UPDATE owner = IF(expires_at <= {now}, VALUES(owner), owner),
  fingerprint = IF(expires_at <= {now}, VALUES(fingerprint), fingerprint),
  answer = IF(expires_at <= {now}, NULL, answer),
  expires_at = IF(expires_at <= {now}, {now} + ?, expires_at)`
	myCompleteKey = `
UPDATE {idempotency} FORCE INDEX (PRIMARY) SET answer = ?, expires_at = {now} + ?
WHERE sum = ? AND owner = ? AND answer IS NULL`
	myReleaseKey = `DELETE i FROM {idempotency} i WHERE i.sum = ? AND i.owner = ? AND i.answer IS NULL`
	myPurgeKeys  = `
DELETE i FROM (SELECT sum FROM {idempotency} WHERE expires_at < {now} - 3600 * 1000000 ORDER BY expires_at LIMIT ?) k
STRAIGHT_JOIN {idempotency} i FORCE INDEX (PRIMARY) ON i.sum = k.sum
WHERE i.expires_at < {now} - 3600 * 1000000`

	myClaimHandling = `INSERT IGNORE INTO {inbox} (handler, id, handled_at) VALUES (?, ?, {now})`
	myPurgeInbox    = `
DELETE i FROM (SELECT handler, id FROM {inbox} WHERE handled_at < {now} - ? ORDER BY handled_at LIMIT ?) k
STRAIGHT_JOIN {inbox} i FORCE INDEX (PRIMARY) ON i.handler = k.handler AND i.id = k.id`
)

func (m *mysql) keySQL() keySQL {
	return renderKeys(func(text string) string { return m.text(text) },
		keySQL{myFindKey, myTakeKey, myCompleteKey, myReleaseKey, myPurgeKeys})
}

func (m *mysql) inboxSQL() inboxSQL { return inboxSQL{m.text(myClaimHandling), m.text(myPurgeInbox)} }

func (m *mysql) once(ctx context.Context, pool *sql.DB, fn func(q querier) error) error {
	return m.transact(ctx, pool, fn)
}
