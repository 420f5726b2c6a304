package gormstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// No statement here waits for rows that it only reads past: rows are found without locks, or with SKIP LOCKED, and then
// locked by their primary keys. On a small table that takes FORCE INDEX: a scan of it is cheap, and locks everything.

const (
	myJoin  = `INSERT INTO {sessions} (id, relay, started_at, expires_at) VALUES (?, ?, {now}, {now} + ?)`
	myRenew = `UPDATE {sessions} FORCE INDEX (PRIMARY) SET expires_at = {now} + {lease}
WHERE id = {session} AND ` + myAlive
	myLives = `SELECT count(*) FROM {sessions} WHERE id = {session} AND ` + myAlive
	myAlive = `stopped_at IS NULL AND expires_at > {now}`
)

// join makes a session, or is its heartbeat while it lives.
func (m *mysql) join(ctx context.Context, q querier, r outbox.LaneRequest) (bool, error) {
	_, err := q.ExecContext(ctx, m.text(myJoin), r.Session[:], r.Relay, r.Lease.Microseconds())
	if mysqlCode(err) == myDuplicate { // which leaves the transaction usable
		return m.renew(ctx, q, r.Session, r.Lease)
	}
	return err == nil, err
}

// renew looks again when nothing changed: a row that already has these values is not counted.
func (m *mysql) renew(ctx context.Context, q querier, session uuid.UUID, lease time.Duration) (bool, error) {
	id := idList(session)
	renewed, err := changed(q.ExecContext(ctx,
		m.text(myRenew, "{session}", id, "{lease}", fmt.Sprint(lease.Microseconds()))))
	if err != nil || renewed {
		return renewed, err
	}
	var n int
	err = q.QueryRowContext(ctx, m.text(myLives, "{session}", id)).Scan(&n)
	return n > 0, err
}

const (
	myExpired = `SELECT id FROM {sessions} WHERE stopped_at IS NULL AND expires_at <= {now} FOR UPDATE SKIP LOCKED`
	myStop    = `UPDATE {sessions} FORCE INDEX (PRIMARY) SET stopped_at = {now}
WHERE id IN ({ended}) AND stopped_at IS NULL`
)

// bury waits for nobody: a session whose row is locked is alive, or somebody else buries it.
func (m *mysql) bury(ctx context.Context, q querier) ([]uuid.UUID, error) {
	expired, err := collect[uuid.UUID](q.QueryContext(ctx, m.text(myExpired)))
	if err != nil || len(expired) == 0 {
		return nil, err
	}
	_, err = q.ExecContext(ctx, m.text(myStop, "{ended}", idList(expired...)))
	return expired, err
}

func (m *mysql) stop(ctx context.Context, q querier, session uuid.UUID) error {
	_, err := q.ExecContext(ctx, m.text(myStop, "{ended}", idList(session)))
	return err
}

const (
	myOwned = `SELECT lane FROM {lanes} WHERE owner IN ({owner})`
	myLock  = `SELECT lane FROM {lanes} FORCE INDEX (PRIMARY)
WHERE lane IN ({lanes_asked}) AND owner IN ({owner}) ORDER BY lane FOR UPDATE`
	myFreeLanes = `UPDATE {lanes} FORCE INDEX (PRIMARY) SET owner = NULL, epoch = epoch + 1 WHERE lane IN ({lanes_asked})`
)

// freeLanes waits for claims that are running in these lanes.
func (m *mysql) freeLanes(ctx context.Context, q querier, sessions []uuid.UUID) error {
	owned, err := collect[int](q.QueryContext(ctx, m.text(myOwned, "{owner}", idList(sessions...))))
	if err != nil || len(owned) == 0 {
		return err
	}
	locked, err := m.lockOwned(ctx, q, owned, sessions...)
	if err != nil || len(locked) == 0 {
		return err
	}
	_, err = q.ExecContext(ctx, m.text(myFreeLanes, "{lanes_asked}", numberList(locked)))
	return err
}

func (m *mysql) lockOwned(ctx context.Context, q querier, lanes []int, owners ...uuid.UUID) ([]int, error) {
	text := m.text(myLock, "{lanes_asked}", numberList(lanes), "{owner}", idList(owners...))
	return collect[int](q.QueryContext(ctx, text))
}

func (m *mysql) lockLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) error {
	_, err := m.lockOwned(ctx, q, lanes, session)
	return err
}

const myTable = `
SELECT lane, owner, epoch, 0 FROM {lanes}
UNION ALL
SELECT NULL, id, 0, expires_at - {now} FROM {sessions} WHERE stopped_at IS NULL`

func (m *mysql) table(ctx context.Context, q querier) (laneTable, error) {
	return readTable(q.QueryContext(ctx, m.text(myTable)))
}

const (
	myClaims   = `SELECT token, seqs FROM {claims} WHERE session IN ({ended})`
	myFoldKeys = "SELECT lane, `key` FROM {messages} FORCE INDEX (PRIMARY) WHERE " + myFoldable + ` FOR UPDATE`
	myFoldable = `seq IN ({seqs}) AND state IN (0, 1, 2, 4)`
	myFold     = "UPDATE {messages} FORCE INDEX (PRIMARY) SET state = 4, holds = `key`" + `, attempts = attempts + 1,
  crashes = crashes + {alone}, uncertain = TRUE, available_at = {now} WHERE ` + myFoldable
	myClaimLanes = `SELECT DISTINCT lane FROM {messages} WHERE seq IN ({seqs})`
)

// fold counts an attempt for each message of a claim that ended without a settle, and a crash if it was alone.
func (m *mysql) fold(ctx context.Context, q querier, sessions []uuid.UUID) ([]laneKey, error) {
	claims, err := m.claimsOf(ctx, q, sessions...)
	if err != nil {
		return nil, err
	}
	var keys []laneKey
	for token, seqs := range claims {
		folded, err := m.foldClaim(ctx, q, token, seqs)
		if err != nil {
			return nil, err
		}
		keys = append(keys, folded...)
	}
	return keys, nil
}

// foldClaim leaves a claim alone that was settled meanwhile.
func (m *mysql) foldClaim(ctx context.Context, q querier, token uuid.UUID, seqs []int64) ([]laneKey, error) {
	n, err := count(q.ExecContext(ctx, m.text(myDropClaim, "{token}", idList(token))))
	if err != nil || n == 0 {
		return nil, err
	}
	list := numberList(seqs)
	rows, err := q.QueryContext(ctx, m.text(myFoldKeys, "{seqs}", list))
	if err != nil {
		return nil, err
	}
	keys, err := collectKeys(rows)
	if err != nil {
		return nil, err
	}
	_, err = q.ExecContext(ctx, m.text(myFold, "{seqs}", list, "{alone}", fmt.Sprint(number(len(seqs) == 1))))
	return keys, err
}

func (m *mysql) claimsOf(ctx context.Context, q querier, sessions ...uuid.UUID) (map[uuid.UUID][]int64, error) {
	rows, err := q.QueryContext(ctx, m.text(myClaims, "{ended}", idList(sessions...)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	claims := map[uuid.UUID][]int64{}
	for rows.Next() {
		var token uuid.UUID
		var text []byte
		var seqs []int64
		if err := rows.Scan(&token, &text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &seqs); err != nil {
			return nil, fmt.Errorf("read the messages of a claim: %w", err)
		}
		claims[token] = seqs
	}
	return claims, rows.Err()
}

// giveBack runs after lockLanes: no claim of these lanes is running, and its snapshot sees all that there are.
func (m *mysql) giveBack(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]int, error) {
	claims, err := m.claimsOf(ctx, q, session)
	if err != nil {
		return nil, err
	}
	var seqs []int64
	for _, s := range claims {
		seqs = append(seqs, s...)
	}
	claimed, err := collect[int](q.QueryContext(ctx, m.text(myClaimLanes, "{seqs}", numberList(seqs))))
	if err != nil {
		return nil, err
	}
	free := slices.DeleteFunc(slices.Clone(lanes), func(lane int) bool { return slices.Contains(claimed, lane) })
	if free, err = m.lockOwned(ctx, q, free, session); err != nil || len(free) == 0 {
		return nil, err
	}
	_, err = q.ExecContext(ctx, m.text(myFreeLanes, "{lanes_asked}", numberList(free)))
	return free, err
}

const (
	myVacant = `SELECT lane, epoch + 1 FROM {lanes} FORCE INDEX (PRIMARY) WHERE owner IS NULL AND lane IN ({lanes_asked})
ORDER BY lane FOR UPDATE SKIP LOCKED`
	myTakeLanes = `UPDATE {lanes} FORCE INDEX (PRIMARY) SET owner = {owner}, epoch = epoch + 1
WHERE lane IN ({lanes_asked})`
	myRaiseEpochs = `UPDATE {lanes} FORCE INDEX (PRIMARY) SET epoch = epoch + 1 WHERE lane IN ({lanes_asked})`
)

func (m *mysql) takeLanes(ctx context.Context, q querier, session uuid.UUID, lanes []int) ([]outbox.Lease, error) {
	leases, err := readLeases(q.QueryContext(ctx, m.text(myVacant, "{lanes_asked}", numberList(lanes))))
	if err != nil || len(leases) == 0 {
		return nil, err
	}
	taken := make([]int, len(leases))
	for i, l := range leases {
		taken[i] = l.Lane
	}
	_, err = q.ExecContext(ctx, m.text(myTakeLanes, "{owner}", idList(session), "{lanes_asked}", numberList(taken)))
	return leases, err
}

func (m *mysql) raiseEpochs(ctx context.Context, q querier, session uuid.UUID, lanes []int) error {
	locked, err := m.lockOwned(ctx, q, lanes, session)
	if err != nil || len(locked) == 0 {
		return err
	}
	_, err = q.ExecContext(ctx, m.text(myRaiseEpochs, "{lanes_asked}", numberList(locked)))
	return err
}

func (m *mysql) dropClaim(ctx context.Context, q querier, token uuid.UUID) error {
	_, err := q.ExecContext(ctx, m.text(myDropClaim, "{token}", idList(token)))
	return err
}

const (
	myOld   = `SELECT id FROM {sessions} WHERE stopped_at < {now} - 7 * 86400 * 1000000 FOR UPDATE SKIP LOCKED`
	myPrune = `DELETE s FROM {sessions} s WHERE s.id = {session}`
)

// prune forgets sessions that ended a week ago.
func (m *mysql) prune(ctx context.Context, q querier) error {
	old, err := collect[uuid.UUID](q.QueryContext(ctx, m.text(myOld)))
	if err != nil {
		return err
	}
	for _, id := range old {
		if _, err := q.ExecContext(ctx, m.text(myPrune, "{session}", idList(id))); err != nil {
			return err
		}
	}
	return nil
}
