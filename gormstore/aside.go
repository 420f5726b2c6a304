package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// A paused message that was claimed is set aside: it waits for a retry that is due in the year 9999, and so holds its
// key and is in nobody's way. The end of the pause makes it due.

// asideMicros is that year in microseconds since 1970.
const asideMicros = 253370764800000000

// asideOrder takes messages out of a claim: those of aside are set aside, and kept is what is left.
type asideOrder struct {
	token       uuid.UUID
	kept, aside []*storedRow
	keys        []laneKey // of those that are set aside
}

// asideTime bounds how long a claim goes on setting aside before it comes back with nothing.
const asideTime = time.Second

// claimUnpaused claims until there is something that is not paused, or nothing at all.
func (s *Store) claimUnpaused(ctx context.Context, ses *session, r outbox.ClaimRequest) (a claimAnswer, err error) {
	if ses.isStopped() {
		if pauses, err := s.readPauses(ctx, ses, s.pool); err != nil || isStop(pauses) {
			return claimAnswer{}, err
		}
	}
	for start := time.Now(); ; {
		if a, err = s.claim(ctx, ses, r); err != nil || !ses.covers(a.rows) {
			return a, err
		}
		a.dry = false
		if a.rows, err = s.setPausedAside(ctx, ses, r.Token, a.rows); err != nil {
			return claimAnswer{}, fmt.Errorf("set paused messages aside: %w", err)
		}
		if len(a.rows) > 0 || ses.isStopped() || time.Since(start) > asideTime {
			return a, nil
		}
	}
}

// readPauses remembers the pauses for the session's next claims. One reads at a time, or else an old answer could
// replace a new one, and has a connection before its turn: whoever waits for one must not hold up another that has the
// last.
func (s *Store) readPauses(ctx context.Context, ses *session, q querier) ([]outbox.Pause, error) {
	if pool, ok := q.(*sql.DB); ok {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		q = conn
	}
	ses.reading.Lock()
	defer ses.reading.Unlock()
	pauses, err := s.activePauses(ctx, q)
	if err == nil {
		ses.setPauses(pauses)
	}
	return pauses, err
}

// setPausedAside takes paused messages, and what comes behind them in their keys, out of a claim. It holds the rows
// against the pauses of a moment in which none can begin or end in these lanes. The rows that are left come back.
func (s *Store) setPausedAside(
	ctx context.Context, ses *session, token uuid.UUID, rows []*storedRow,
) (kept []*storedRow, err error) {
	err = s.dialect.transact(ctx, s.pool, func(q querier) error {
		if err := s.dialect.share(ctx, q, lanesOf(rows)); err != nil {
			return err
		}
		pauses, err := s.readPauses(ctx, ses, q)
		if err != nil {
			return err
		}
		order := splitPaused(rows, pauses)
		if kept = order.kept; len(kept) == len(rows) {
			return nil
		}
		order.token = token
		found, err := s.dialect.aside(ctx, q, order)
		if !found {
			kept = nil // recovered meanwhile
			return err
		}
		return s.dialect.reblock(ctx, q, order.keys)
	})
	if err != nil {
		return nil, err
	}
	ses.closeWithout(rows, kept)
	return kept, nil
}

// splitPaused parts rows, which are in the order of their numbers. Where everything is paused, nothing needs to be set
// aside.
func splitPaused(rows []*storedRow, pauses []outbox.Pause) (order asideOrder) {
	held := map[laneKey]bool{}
	for _, r := range rows {
		k := laneKey{r.Lane, r.Key}
		switch {
		case isStop(pauses), r.Key != "" && held[k]:
		case covered(r, pauses):
			order.aside = append(order.aside, r)
			if r.Key != "" {
				held[k] = true
				order.keys = append(order.keys, k)
			}
		default:
			order.kept = append(order.kept, r)
		}
	}
	return order
}

func covered(r *storedRow, pauses []outbox.Pause) bool {
	return slices.ContainsFunc(pauses, func(p outbox.Pause) bool { return p.Covers(r.Message) })
}

func isStop(pauses []outbox.Pause) bool {
	return slices.ContainsFunc(pauses, func(p outbox.Pause) bool { return p.Scope == outbox.Scope{} })
}

func lanesOf(rows []*storedRow) []int {
	var lanes []int
	for _, r := range rows {
		lanes = append(lanes, r.Lane)
	}
	slices.Sort(lanes)
	return slices.Compact(lanes)
}

func (ses *session) setPauses(pauses []outbox.Pause) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.pauses = pauses
}

func (ses *session) isStopped() bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return isStop(ses.pauses)
}

func (ses *session) covers(rows []*storedRow) bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return len(ses.pauses) > 0 && slices.ContainsFunc(rows, func(r *storedRow) bool { return covered(r, ses.pauses) })
}

// closeWithout ends the claim in lanes of which nothing is left in it. They are read again from the lowest number that
// was in it: where everything is paused, nothing was set aside.
func (ses *session) closeWithout(rows, kept []*storedRow) {
	open := map[int]bool{}
	for _, r := range kept {
		open[r.Lane] = true
	}
	lowest := map[int]int64{}
	for _, r := range rows {
		if !open[r.Lane] {
			seq, ok := lowest[r.Lane]
			if !ok {
				seq = math.MaxInt64
			}
			lowest[r.Lane] = min(seq, r.seq)
		}
	}
	for lane, seq := range lowest {
		ses.close(lane, seq)
	}
}
