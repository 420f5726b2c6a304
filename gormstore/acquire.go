package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// laneTable is who holds what, in one snapshot.
type laneTable struct {
	owners   []uuid.UUID // by lane; zero for none
	epochs   []int64
	sessions map[uuid.UUID]time.Duration // alive, and how long for
	expired  []uuid.UUID                 // neither alive nor buried
}

// AcquireLanes is a session's heartbeat and round of rebalancing, see outbox.Store.
func (s *Store) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	if _, err := s.schema.lanes(ctx, s.dialect, s.pool, s.log); err != nil {
		return outbox.Lanes{}, err
	}
	var lanes outbox.Lanes
	err := s.dialect.transact(ctx, s.pool, func(q querier) (err error) {
		lanes, err = s.acquire(ctx, q, r)
		return err
	})
	switch {
	case errors.Is(err, errEnded):
		s.forget(r.Session)
		return outbox.Lanes{}, outbox.ErrSessionEnded
	case err != nil:
		return outbox.Lanes{}, fmt.Errorf("acquire lanes: %w", err)
	}
	s.session(r.Session).join()
	return lanes, nil
}

// acquire heartbeats first: two relays that bury each other would otherwise wait for one another.
func (s *Store) acquire(ctx context.Context, q querier, r outbox.LaneRequest) (outbox.Lanes, error) {
	if err := s.heartbeat(ctx, q, r); err != nil {
		return outbox.Lanes{}, err
	}
	table, recovered, err := s.survey(ctx, q, r.Session)
	if err != nil {
		return outbox.Lanes{}, err
	}
	if recovered {
		r.Drained = nil // they go in the next round: locks are taken in the order of lanes, and others are held by now
	}
	return s.rebalance(ctx, q, r, table)
}

// survey tells who holds what, once those that have expired are buried and their work is recovered.
func (s *Store) survey(
	ctx context.Context, q querier, session uuid.UUID,
) (table laneTable, recovered bool, err error) {
	table, err = s.dialect.table(ctx, q)
	if orphans := table.orphans(); err == nil && len(table.expired)+len(orphans) > 0 {
		if err := s.recoverExpired(ctx, q, session, orphans); err != nil {
			return laneTable{}, false, err
		}
		recovered = true
		table, err = s.dialect.table(ctx, q)
	}
	if err != nil {
		return laneTable{}, false, fmt.Errorf("read lanes: %w", err)
	}
	return table, recovered, nil
}

// recoverExpired ends the round of a session that expired since its heartbeat, and so was buried with the others. All
// of that is undone: lanes that it took now would belong to a stopped session, which nobody buries again.
func (s *Store) recoverExpired(ctx context.Context, q querier, session uuid.UUID, orphans []uuid.UUID) error {
	expired, err := s.dialect.bury(ctx, q)
	if err != nil {
		return fmt.Errorf("bury expired sessions: %w", err)
	}
	if slices.Contains(expired, session) {
		return errEnded
	}
	return s.recover(ctx, q, append(expired, orphans...))
}

// orphans are owners of lanes that are no sessions any more. A session ends together with its lanes, so somebody has
// deleted it, or stamped it, by hand.
func (t laneTable) orphans() (owners []uuid.UUID) {
	for _, owner := range t.owners {
		_, alive := t.sessions[owner]
		if owner != uuid.Nil && !alive && !slices.Contains(t.expired, owner) && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}

// heartbeat never makes a session again that this store has seen: its row may have been pruned.
func (s *Store) heartbeat(ctx context.Context, q querier, r outbox.LaneRequest) error {
	var alive bool
	var err error
	if s.session(r.Session).hasJoined() {
		alive, err = s.dialect.renew(ctx, q, r.Session, r.Lease)
	} else {
		alive, err = s.dialect.join(ctx, q, r)
	}
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if !alive {
		return errEnded
	}
	return nil
}

// recover frees the lanes of ended sessions, and then, by later statements of the same transaction, folds their
// claims: a claim statement that was running when its lanes were taken has left its row by then.
func (s *Store) recover(ctx context.Context, q querier, sessions []uuid.UUID) error {
	if len(sessions) == 0 {
		return nil
	}
	if err := s.dialect.freeLanes(ctx, q, sessions); err != nil {
		return fmt.Errorf("free lanes: %w", err)
	}
	keys, err := s.dialect.fold(ctx, q, sessions)
	if err != nil {
		return fmt.Errorf("recover claims: %w", err)
	}
	if err := s.dialect.reblock(ctx, q, keys); err != nil {
		return fmt.Errorf("block keys of recovered claims: %w", err)
	}
	return nil
}

// rebalance carries out this session's part of the plan that follows from the table.
func (s *Store) rebalance(ctx context.Context, q querier, r outbox.LaneRequest, t laneTable) (outbox.Lanes, error) {
	plan := t.plan(r.Session)
	gone, err := s.release(ctx, q, r, plan.Release)
	if err != nil {
		return outbox.Lanes{}, fmt.Errorf("give lanes back: %w", err)
	}
	held := make([]outbox.Lease, 0, len(plan.Keep)+len(plan.Release)+len(plan.Claim))
	for _, lane := range plan.Keep {
		held = append(held, outbox.Lease{Lane: lane, Epoch: t.epochs[lane]})
	}
	for _, lane := range plan.Release {
		if !slices.Contains(gone, lane) {
			held = append(held, outbox.Lease{Lane: lane, Epoch: t.epochs[lane], Draining: true})
		}
	}
	if len(plan.Claim) > 0 {
		taken, err := s.dialect.takeLanes(ctx, q, r.Session, plan.Claim)
		if err != nil {
			return outbox.Lanes{}, fmt.Errorf("take lanes: %w", err)
		}
		held = append(held, taken...)
	}
	slices.SortFunc(held, func(a, b outbox.Lease) int { return a.Lane - b.Lane })
	return outbox.Lanes{Held: held, Expiry: t.soonest(r.Session)}, nil
}

// release gives back those of lanes that the relay has drained and that no claim of the session names.
func (s *Store) release(ctx context.Context, q querier, r outbox.LaneRequest, lanes []int) ([]int, error) {
	var drained []int
	for _, lane := range lanes {
		if slices.Contains(r.Drained, lane) {
			drained = append(drained, lane)
		}
	}
	if len(drained) == 0 {
		return nil, nil
	}
	if err := s.dialect.lockLanes(ctx, q, r.Session, drained); err != nil { // waits for a claim that is running
		return nil, err
	}
	return s.dialect.giveBack(ctx, q, r.Session, drained)
}

// plan asks the lane arithmetic for me's part.
func (t laneTable) plan(me uuid.UUID) outbox.LanePlan {
	states := make([]outbox.LaneState, len(t.owners))
	for lane, owner := range t.owners {
		if owner == uuid.Nil {
			continue
		}
		_, alive := t.sessions[owner]
		states[lane] = outbox.LaneState{Owner: owner.String(), Expired: !alive}
	}
	var alive []string
	for id := range t.sessions {
		alive = append(alive, id.String())
	}
	return outbox.PlanLanes(states, alive, me.String())
}

// soonest is the time until another session expires.
func (t laneTable) soonest(me uuid.UUID) time.Duration {
	var soonest time.Duration
	for id, left := range t.sessions {
		if id != me && (soonest == 0 || left < soonest) {
			soonest = max(left, time.Millisecond)
		}
	}
	return soonest
}

func (ses *session) hasJoined() bool {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ses.joined
}

func (ses *session) join() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.joined = true
}
