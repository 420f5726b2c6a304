package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const (
	// mySettleDelivered is the common case in one statement: the claim's own list says what to delete. It deletes one
	// row for the claim if that was there, and one for each message; without it, nothing.
	mySettleDelivered = `DELETE c, m FROM {claims} c
JOIN JSON_TABLE(c.seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) k
LEFT JOIN {messages} m FORCE INDEX (PRIMARY) ON m.seq = k.seq
WHERE c.token = {token}`

	myShareLanes = `SELECT lane FROM {lanes} FORCE INDEX (PRIMARY) WHERE lane IN ({lanes_changed})
ORDER BY lane LOCK IN SHARE MODE`

	// A plain DELETE scans a small table whatever its index, and waits for rows of transactions that are open. One that
	// joins looks rows up.
	myDropClaim = `DELETE c FROM {claims} c WHERE c.token = {token}`
	myDelete    = `DELETE m FROM JSON_TABLE('[{seqs}]', '$[*]' COLUMNS (seq BIGINT PATH '$')) k
STRAIGHT_JOIN {messages} m FORCE INDEX (PRIMARY) ON m.seq = k.seq`
	myChange = `
UPDATE {messages} FORCE INDEX (PRIMARY) SET state = ?, holds = {holds}, attempts = attempts + 1,
  failures = failures + ?, available_at = {now} + ?, uncertain = uncertain OR ?, last_class = nullif(?, ''),
  last_error = nullif(?, '') WHERE seq IN ({seqs})`
)

// settle takes the claim first; without it, nothing changes.
func (m *mysql) settle(ctx context.Context, pool *sql.DB, s settlement) (did settled, err error) {
	if len(s.changes)+s.released+len(s.keys) == 0 && !s.archive {
		return m.settleDelivered(ctx, pool, s)
	}
	err = m.transact(ctx, pool, func(q querier) error {
		did, err = m.settleAll(ctx, q, s)
		return err
	})
	return did, err
}

func (m *mysql) settleDelivered(ctx context.Context, pool *sql.DB, s settlement) (settled, error) {
	text := m.text(mySettleDelivered, "{token}", idList(s.token))
	for try := 1; ; try++ {
		n, err := count(pool.ExecContext(ctx, text))
		switch {
		case err == nil && n > 0:
			return settled{claims: 1, changed: n - 1}, nil
		case try == 5 || !isMySQLConflict(err) || ctx.Err() != nil:
			return settled{}, err
		}
	}
}

func (m *mysql) settleAll(ctx context.Context, q querier, s settlement) (did settled, err error) {
	if err := m.shareLanes(ctx, q, s.keys); err != nil {
		return did, err
	}
	if did.claims, err = count(q.ExecContext(ctx, m.text(myDropClaim, "{token}", idList(s.token)))); err != nil {
		return did, err
	}
	if did.claims == 0 {
		return did, nil
	}
	if did.changed, err = m.deliver(ctx, q, s); err != nil {
		return did, err
	}
	for c, seqs := range alike(s.changes) {
		n, err := m.change(ctx, q, c, seqs)
		if err != nil {
			return did, err
		}
		did.changed += n
	}
	return did, m.reblock(ctx, q, s.keys)
}

func (m *mysql) deliver(ctx context.Context, q querier, s settlement) (int, error) {
	if len(s.seqs) == 0 {
		return 0, nil
	}
	if s.archive {
		if err := m.keep(ctx, q, s.seqs); err != nil {
			return 0, err
		}
	}
	return count(q.ExecContext(ctx, m.text(myDelete, "{seqs}", numberList(s.seqs))))
}

// shareLanes keeps operators, who take lanes FOR UPDATE, away from keys whose blocks are about to change.
func (m *mysql) shareLanes(ctx context.Context, q querier, keys []laneKey) error {
	if len(keys) == 0 {
		return nil
	}
	lanes := make([]int, len(keys))
	for i, k := range keys {
		lanes[i] = k.lane
	}
	_, err := collect[int](q.QueryContext(ctx, m.text(myShareLanes, "{lanes_changed}", numberList(lanes))))
	return err
}

// alike gathers the messages that change in the same way, which are most of them when a broker is down.
func alike(changes []change) map[change][]int64 {
	groups := map[change][]int64{}
	for _, c := range changes {
		seq := c.seq
		c.id, c.seq = uuid.Nil, 0
		groups[c] = append(groups[c], seq)
	}
	return groups
}

func (m *mysql) change(ctx context.Context, q querier, c change, seqs []int64) (int, error) {
	text := m.text(myChange, "{seqs}", numberList(seqs), "{holds}", holdsOf(c.state))
	return count(q.ExecContext(ctx, text, int(c.state), number(c.failed), c.wait.Microseconds(), number(c.uncertain),
		string(c.class), c.err))
}

// holdsOf is the column holds of a message in state s.
func holdsOf(s state) string {
	if s.blocks() {
		return "`key`"
	}
	return "NULL"
}

const (
	reblockMax = 100 // keys in a statement

	// myLows are the lowest blocking messages of keys, looked up for each state.
	myLows = `SELECT k.lane, k.k, min(m.seq)
FROM (SELECT 2 AS state UNION ALL SELECT 3 UNION ALL SELECT 4) s STRAIGHT_JOIN ({rows}) k
STRAIGHT_JOIN {messages} m FORCE INDEX (place) ON m.state = s.state AND m.lane = k.lane AND m.holds = k.k
GROUP BY k.lane, k.k`
	myKey     = `SELECT %d AS lane, X'%x' AS k`
	myBlock   = "INSERT INTO {blocks} (lane, `key`, seq) VALUES {rows} ON DUPLICATE KEY UPDATE seq = VALUES(seq)"
	myUnblock = `DELETE b FROM ({rows}) k
STRAIGHT_JOIN {blocks} b FORCE INDEX (PRIMARY) ON b.lane = k.lane AND b.` + "`key`" + ` = k.k`
)

// reblock makes the blocks of keys what their messages say.
func (m *mysql) reblock(ctx context.Context, q querier, keys []laneKey) error {
	for part := range slices.Chunk(keys, reblockMax) {
		if err := m.reblockSome(ctx, q, part); err != nil {
			return err
		}
	}
	return nil
}

func (m *mysql) reblockSome(ctx context.Context, q querier, keys []laneKey) error {
	lows, err := m.lows(ctx, q, keys)
	if err != nil {
		return err
	}
	var blocked, free []string
	for _, k := range keys {
		if low, ok := lows[k]; ok {
			blocked = append(blocked, fmt.Sprintf("(%d, X'%x', %d)", k.lane, k.key, low))
		} else {
			free = append(free, fmt.Sprintf(myKey, k.lane, k.key))
		}
	}
	if len(free) > 0 {
		_, err = q.ExecContext(ctx, m.text(myUnblock, "{rows}", strings.Join(free, " UNION ALL ")))
	}
	if err == nil && len(blocked) > 0 {
		_, err = q.ExecContext(ctx, m.text(myBlock, "{rows}", strings.Join(blocked, ", ")))
	}
	return err
}

func (m *mysql) lows(ctx context.Context, q querier, keys []laneKey) (map[laneKey]int64, error) {
	asked := make([]string, len(keys))
	for i, k := range keys {
		asked[i] = fmt.Sprintf(myKey, k.lane, k.key)
	}
	rows, err := q.QueryContext(ctx, m.text(myLows, "{rows}", strings.Join(asked, " UNION ALL ")))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	lows := map[laneKey]int64{}
	for rows.Next() {
		var k laneKey
		var low int64
		if err := rows.Scan(&k.lane, &k.key, &low); err != nil {
			return nil, err
		}
		lows[k] = low
	}
	return lows, rows.Err()
}
