package gormstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"
)

// pgSettleDelivered is the common case: the claim's own list says what to delete.
const pgSettleDelivered = `
WITH c AS (DELETE FROM {claims} WHERE token = $1 RETURNING ids),
d AS (DELETE FROM {messages} WHERE id = ANY (ARRAY (SELECT unnest(ids) FROM c)) RETURNING {kept}){keep}
SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM d)`

// pgSettle takes the claim first, and everything else only if it was there: a settle that waited behind a recovery
// then changes nothing. The list of ids beside the join makes even a plan for an empty table use the primary key.
const pgSettle = `
WITH c AS (DELETE FROM {claims} WHERE token = $1 RETURNING 1),
d AS (DELETE FROM {messages} WHERE EXISTS (SELECT FROM c) AND id = ANY ($2::uuid[]) RETURNING {kept}){keep},
u AS (
  UPDATE {messages} m
  SET state = f.state, attempts = m.attempts + 1, failures = m.failures + f.failed,
    available_at = clock_timestamp() + f.wait * interval '1 microsecond', uncertain = m.uncertain OR f.uncertain,
    last_class = nullif(f.class, ''), last_error = nullif(f.error, '')
  FROM unnest($3::uuid[], $4::smallint[], $5::bigint[], $6::integer[], $7::boolean[], $8::text[], $9::text[])
    AS f (id, state, wait, failed, uncertain, class, error)
  WHERE EXISTS (SELECT FROM c) AND m.id = f.id AND m.id = ANY ($3::uuid[])
  RETURNING 1
)
SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM d) + (SELECT count(*) FROM u)`

// pgShareLanes keeps operators, who take lanes FOR UPDATE, away from keys whose blocks are about to change.
const pgShareLanes = `SELECT count(*) FROM (
  SELECT FROM {lanes} WHERE lane = ANY ($1::smallint[]) ORDER BY lane FOR SHARE) l`

// pgReblock makes the blocks of keys what their messages say.
const pgReblock = `
WITH k AS (
  SELECT u.lane, u.key, (SELECT min(m.seq) FROM {messages} m
    WHERE m.lane = u.lane AND m.key = u.key AND m.state IN (2, 3, 4)) AS seq
  FROM unnest($1::smallint[], $2::text[]) AS u (lane, key)
),
gone AS (DELETE FROM {blocks} b USING k WHERE b.lane = k.lane AND b.key = k.key AND k.seq IS NULL)
INSERT INTO {blocks} AS b (lane, key, seq)
SELECT k.lane, k.key, k.seq FROM k WHERE k.seq IS NOT NULL ORDER BY k.lane, k.key
ON CONFLICT (lane, key) DO UPDATE SET seq = excluded.seq WHERE b.seq <> excluded.seq`

func (p *postgres) settle(ctx context.Context, pool *sql.DB, s settlement) (did settled, err error) {
	if len(s.keys) == 0 {
		err = p.once(ctx, pool, func(q querier) error {
			did, err = p.settleMessages(ctx, q, s)
			return err
		})
		return did, err
	}
	err = p.transact(ctx, pool, func(q querier) error {
		lanes := make([]int, len(s.keys))
		for i, k := range s.keys {
			lanes[i] = k.lane
		}
		if _, err := q.ExecContext(ctx, p.sql.share, intArray(lanes)); err != nil {
			return err
		}
		if did, err = p.settleMessages(ctx, q, s); err != nil || did.claims == 0 {
			return err
		}
		return p.reblock(ctx, q, s.keys)
	})
	return did, err
}

func (p *postgres) settleMessages(ctx context.Context, q querier, s settlement) (did settled, err error) {
	defer p.plans.took(time.Now())
	text, args := p.settleText(s)
	err = q.QueryRowContext(ctx, p.plans.text(text), args...).Scan(&did.claims, &did.changed)
	return did, err
}

func (p *postgres) settleText(s settlement) (text string, args []any) {
	delivered, mixed := p.sql.settleDelivered, p.sql.settle
	if s.archive {
		delivered, mixed = p.sql.keepDelivered, p.sql.settleKeeping
	}
	if len(s.changes)+s.released == 0 {
		return delivered, []any{s.token.String()}
	}
	return mixed, p.settleArgs(s)
}

func (p *postgres) settleArgs(s settlement) []any {
	n := len(s.changes)
	ids, states, waits, failed := make([]uuid.UUID, n), make([]state, n), make([]int64, n), make([]int, n)
	uncertain, classes, errs := make([]bool, n), make([]string, n), make([]string, n)
	for i, c := range s.changes {
		ids[i], states[i], waits[i] = c.id, c.state, c.wait.Microseconds()
		if c.failed {
			failed[i] = 1
		}
		uncertain[i], classes[i], errs[i] = c.uncertain, string(c.class), c.err
	}
	return []any{
		s.token.String(), uuidArray(s.delivered), uuidArray(ids), intArray(states), intArray(waits), intArray(failed),
		boolArray(uncertain), textArray(classes), textArray(errs),
	}
}

func (p *postgres) reblock(ctx context.Context, q querier, keys []laneKey) error {
	if len(keys) == 0 {
		return nil
	}
	lanes, texts := make([]int, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		lanes[i], texts[i] = k.lane, k.key
	}
	_, err := q.ExecContext(ctx, p.sql.reblock, intArray(lanes), textArray(texts))
	return err
}
