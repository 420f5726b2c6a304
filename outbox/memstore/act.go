package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Requeue implements [outbox.Inspector].
func (s *Store) Requeue(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return s.act(act, "requeue", ids, isSetAside, func(r *row) {
		r.state, r.due = retrying, time.Now() // and not ready: suspects behind it have to wait
		r.attempts, r.failures, r.crashes = 0, 0, 0
	})
}

// Discard implements [outbox.Inspector].
func (s *Store) Discard(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return s.act(act, "discard", ids, isSetAside, func(r *row) {
		delete(s.messages, r.ID)
		s.lanes[r.lane].remove(r)
	})
}

// Skip implements [outbox.Inspector].
func (s *Store) Skip(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	holds := func(st state) bool { return st == parked }
	return s.act(act, "skip", ids, holds, func(r *row) { r.state = skipped })
}

func isSetAside(st state) bool { return st == parked || st == skipped }

// act does one thing to those of ids that are in a state that allows it, and records it.
func (s *Store) act(
	act outbox.Act, deed string, ids []uuid.UUID, allowed func(state) bool, do func(*row),
) (int, error) {
	if err := act.Check(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lanes []int
	for _, id := range ids {
		r, ok := s.messages[id]
		if !ok || !allowed(r.state) {
			continue
		}
		do(r)
		lanes = append(lanes, r.lane)
		s.record(act, deed, id, outbox.Scope{Topic: r.Topic, Key: r.Key})
	}
	if len(lanes) > 0 {
		s.wake(slices.Compact(slices.Sorted(slices.Values(lanes))))
	}
	return len(lanes), nil
}
