package gormstore

const (
	pgFindKey = `
SELECT owner, fingerprint, answer FROM {idempotency} WHERE sum = $1::bytea AND expires_at > clock_timestamp()`
	pgTakeKey = `
INSERT INTO {idempotency} AS i (sum, owner, fingerprint, expires_at)
VALUES ($1::bytea, $2::uuid, $3::bytea, clock_timestamp() + $4::bigint * interval '1 microsecond')
ON CONFLICT (sum) DO UPDATE SET owner = excluded.owner, fingerprint = excluded.fingerprint, answer = NULL,
  expires_at = clock_timestamp() + $5::bigint * interval '1 microsecond'
WHERE i.expires_at <= clock_timestamp()`
	pgCompleteKey = `
UPDATE {idempotency} SET answer = $1::bytea, expires_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE sum = $3::bytea AND owner = $4::uuid AND answer IS NULL`
	pgReleaseKey = `DELETE FROM {idempotency} WHERE sum = $1::bytea AND owner = $2::uuid AND answer IS NULL`
	pgPurgeKeys  = `
DELETE FROM {idempotency} WHERE sum IN (
  SELECT sum FROM {idempotency} WHERE expires_at < clock_timestamp() - interval '1 hour'
  ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`

	pgClaimHandling = `INSERT INTO {inbox} (handler, id) VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING`
	pgPurgeInbox    = `
DELETE FROM {inbox} WHERE (handler, id) IN (
  SELECT handler, id FROM {inbox} WHERE handled_at < clock_timestamp() - $1::bigint * interval '1 microsecond'
  ORDER BY handled_at LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

func (p *postgres) keySQL() keySQL     { return p.sql.keys }
func (p *postgres) inboxSQL() inboxSQL { return p.sql.inbox }

func renderKeys(render func(string) string, k keySQL) keySQL {
	return keySQL{render(k.find), render(k.take), render(k.complete), render(k.release), render(k.purge)}
}
