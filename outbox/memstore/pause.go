package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Pause implements [outbox.Pauser].
func (s *Store) Pause(_ context.Context, act outbox.Act, scope outbox.Scope) error {
	return s.change(act, "pause", scope, func(now time.Time) {
		s.pauses = slices.DeleteFunc(s.pauses, func(p outbox.Pause) bool { return p.Scope == scope })
		s.pauses = append(s.pauses, outbox.Pause{Scope: scope, Act: act, At: now})
		slices.SortFunc(s.pauses, func(a, b outbox.Pause) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Key, b.Key))
		})
	})
}

// Resume implements [outbox.Pauser].
func (s *Store) Resume(_ context.Context, act outbox.Act, scope outbox.Scope) error {
	return s.change(act, "resume", scope, func(time.Time) {
		s.pauses = slices.DeleteFunc(s.pauses, func(p outbox.Pause) bool { return p.Scope == scope })
		s.wake(nil)
	})
}

func (s *Store) change(act outbox.Act, deed string, scope outbox.Scope, do func(now time.Time)) error {
	if err := cmp.Or(act.Check(), scope.Check()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	do(time.Now())
	s.record(act, deed, uuid.Nil, scope)
	return nil
}

// Pauses implements [outbox.Pauser].
func (s *Store) Pauses(context.Context) ([]outbox.Pause, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pauses), nil
}

func (s *Store) paused(r *row) bool {
	return slices.ContainsFunc(s.pauses, func(p outbox.Pause) bool { return p.Covers(r.Message) })
}
