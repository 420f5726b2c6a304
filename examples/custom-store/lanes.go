package customstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// AcquireLanes implements [outbox.Store].
func (s *Store) AcquireLanes(_ context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	if !s.heartbeat(r.Session, r.Lease, true) {
		return outbox.Lanes{}, outbox.ErrSessionEnded
	}
	alive := s.bury()
	table := s.freeLanes()
	names := slices.Collect(maps.Keys(alive))
	plan := outbox.PlanLanes(table, names, r.Session.String())
	for _, n := range plan.Claim {
		s.take(n, r.Session)
	}
	for _, n := range plan.Release {
		if slices.Contains(r.Drained, n) {
			s.giveBack(n, r.Session)
		}
	}
	delete(alive, r.Session.String())
	return outbox.Lanes{Held: s.held(r.Session, plan.Release), Expiry: soonest(alive)}, nil
}

// heartbeat extends a session that is alive, and makes one that nobody has seen if join says so. An ended one stays
// ended.
func (s *Store) heartbeat(id uuid.UUID, lease time.Duration, join bool) bool {
	return edit(s.table, sessionKey(id), func(own *session, exists bool) bool {
		now := s.table.Now()
		if exists && !own.alive(now) || !exists && !join {
			return false
		}
		if expires := now.Add(lease); expires.After(own.Expires) {
			own.Expires = expires
		}
		return true
	})
}

// RenewLanes implements [outbox.LaneRenewer].
func (s *Store) RenewLanes(_ context.Context, id uuid.UUID, lease time.Duration) error {
	if !s.heartbeat(id, lease, false) {
		return outbox.ErrSessionEnded
	}
	return nil
}

// ReleaseLanes implements [outbox.LaneReleaser].
func (s *Store) ReleaseLanes(_ context.Context, id uuid.UUID) error {
	edit(s.table, sessionKey(id), func(own *session, exists bool) bool {
		own.Stopped = true
		return exists
	})
	s.freeLanes()
	return nil
}

// bury stamps the sessions that have expired, which no renewal can undo, and returns how long the others have left.
func (s *Store) bury() map[string]time.Duration {
	alive := make(map[string]time.Duration)
	for _, row := range s.table.Scan("session/", "", all) {
		edit(s.table, row.Key, func(other *session, _ bool) bool {
			now := s.table.Now()
			if other.alive(now) {
				alive[strings.TrimPrefix(row.Key, "session/")] = other.Expires.Sub(now)
				return false
			}
			stamped := !other.Stopped
			other.Stopped = true
			return stamped
		})
	}
	return alive
}

// freeLanes takes away the lanes of sessions that have ended and recovers their claims, and returns who holds what
// now. Epoch, owner and claims change in one row, so a claim that is being made either is among those recovered, or
// fails.
func (s *Store) freeLanes() []outbox.LaneState {
	table := make([]outbox.LaneState, s.lanes)
	for n := range table {
		edit(s.table, laneKey(n), func(l *lane, _ bool) bool {
			if l.Owner == uuid.Nil {
				table[n].Owner = ""
				return false
			}
			table[n].Owner = l.Owner.String()
			if !decode[session](s.table.Get(sessionKey(l.Owner))).Stopped {
				return false
			}
			table[n].Owner = ""
			for token, c := range l.Claims {
				l.Writes = append(l.Writes, s.recover(n, c)...)
				delete(l.Claims, token)
			}
			l.moveTo(uuid.Nil)
			return true
		})
	}
	return table
}

// recover counts an attempt that ended without a settle for each message of a claim.
func (s *Store) recover(n int, c claim) []write {
	var writes []write
	for _, number := range c.Numbers {
		row := s.table.Get(messageKey(n, number))
		if row.Version == 0 {
			continue // an operator has deleted it
		}
		now := decode[message](row).standing
		now.State, now.Due = suspect, time.Time{}
		now.Attempts++
		if c.Alone {
			now.Crashes++
		}
		writes = append(writes, write{Number: number, standing: now})
	}
	return writes
}

// moveTo gives the lane to another owner; the new epoch fences whoever had it.
func (l *lane) moveTo(owner uuid.UUID) {
	l.Owner = owner
	l.Epoch++
}

func (s *Store) take(n int, id uuid.UUID) {
	edit(s.table, laneKey(n), func(l *lane, _ bool) bool {
		free := l.Owner == uuid.Nil
		if free {
			l.moveTo(id)
		}
		return free
	})
}

func (s *Store) giveBack(n int, id uuid.UUID) {
	edit(s.table, laneKey(n), func(l *lane, _ bool) bool {
		idle := l.Owner == id && len(l.Claims) == 0
		if idle {
			l.moveTo(uuid.Nil)
		}
		return idle
	})
}

func (s *Store) held(id uuid.UUID, draining []int) []outbox.Lease {
	var held []outbox.Lease
	for n := range s.lanes {
		if l := decode[lane](s.table.Get(laneKey(n))); l.Owner == id {
			held = append(held, outbox.Lease{Lane: n, Epoch: l.Epoch, Draining: slices.Contains(draining, n)})
		}
	}
	return held
}

func soonest(others map[string]time.Duration) time.Duration {
	if len(others) == 0 {
		return 0
	}
	return slices.Min(slices.Collect(maps.Values(others)))
}
