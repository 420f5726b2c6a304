package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// AcquireLanes implements [outbox.Store].
func (s *Store) AcquireLanes(_ context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.sessions[r.Session] == nil {
		s.sessions[r.Session] = &session{relay: r.Relay, started: now, expires: now.Add(r.Lease)}
	}
	if err := s.heartbeat(r.Session, now.Add(r.Lease), now); err != nil {
		return outbox.Lanes{}, err
	}
	for id, other := range s.sessions {
		switch {
		case other.stopped && now.Sub(other.expires) > remembered:
			delete(s.sessions, id)
		case !other.stopped && !other.alive(now):
			other.stopped = true
			s.bury(id)
		}
	}
	plan := outbox.PlanLanes(s.table(), s.names(), r.Session.String())
	for _, n := range plan.Claim {
		s.move(n, r.Session)
	}
	for _, n := range plan.Release {
		if slices.Contains(r.Drained, n) && !s.isClaimed(n) {
			s.move(n, uuid.Nil)
		}
	}
	return outbox.Lanes{Held: s.held(r.Session, plan.Release), Expiry: s.soonestExpiry(r.Session, now)}, nil
}

// remembered is how long a dead session is, so that no heartbeat of its own can come that late.
const remembered = time.Hour

// heartbeat keeps a session alive; it never revives one.
func (s *Store) heartbeat(id uuid.UUID, expires, now time.Time) error {
	own, ok := s.sessions[id]
	switch {
	case !ok, !own.alive(now):
		return outbox.ErrSessionEnded
	case expires.After(own.expires):
		own.expires = expires
	}
	return nil
}

// RenewLanes implements [outbox.LaneRenewer].
func (s *Store) RenewLanes(_ context.Context, id uuid.UUID, lease time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return s.heartbeat(id, now.Add(lease), now)
}

// ReleaseLanes implements [outbox.LaneReleaser].
func (s *Store) ReleaseLanes(_ context.Context, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own, ok := s.sessions[id]; ok {
		own.stopped = true
	}
	s.bury(id)
	s.wake([]int{})
	return nil
}

// bury frees the lanes of a session and turns what it had claimed into suspects.
func (s *Store) bury(id uuid.UUID) {
	for n := range s.lanes {
		if s.lanes[n].owner == id {
			s.move(n, uuid.Nil)
		}
	}
	for token, c := range s.claims {
		if c.session != id {
			continue
		}
		delete(s.claims, token)
		for _, m := range c.ids {
			s.suspect(m, len(c.ids) == 1)
		}
	}
}

// suspect counts an attempt that ended without a settle.
func (s *Store) suspect(id uuid.UUID, alone bool) {
	r, ok := s.messages[id]
	if !ok {
		return
	}
	r.claimed, r.state, r.due, r.uncertain = false, suspect, time.Time{}, true
	r.attempts++
	if alone {
		r.crashes++
	}
}

// move gives a lane to another owner; the new epoch fences whoever had it.
func (s *Store) move(n int, to uuid.UUID) {
	s.lanes[n].owner = to
	s.lanes[n].epoch++
}

func (s *Store) table() []outbox.LaneState {
	table := make([]outbox.LaneState, len(s.lanes))
	for n, l := range s.lanes {
		if l.owner != uuid.Nil {
			table[n].Owner = l.owner.String()
		}
	}
	return table
}

func (s *Store) names() []string {
	var names []string
	for id, other := range s.sessions {
		if !other.stopped {
			names = append(names, id.String())
		}
	}
	return names
}

func (s *Store) held(id uuid.UUID, draining []int) []outbox.Lease {
	var held []outbox.Lease
	for n, l := range s.lanes {
		if l.owner == id {
			held = append(held, outbox.Lease{Lane: n, Epoch: l.epoch, Draining: slices.Contains(draining, n)})
		}
	}
	return held
}

func (s *Store) isClaimed(n int) bool {
	return slices.ContainsFunc(s.lanes[n].rows, func(r *row) bool { return r.claimed })
}

func (s *Store) soonestExpiry(me uuid.UUID, now time.Time) time.Duration {
	var soonest time.Duration
	for id, other := range s.sessions {
		if d := other.expires.Sub(now); id != me && !other.stopped && (soonest == 0 || d < soonest) {
			soonest = d
		}
	}
	return soonest
}
