package memstore

import (
	"context"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Settle implements [outbox.Store].
func (s *Store) Settle(_ context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.claims[c.Token]
	if !ok {
		return 0, outbox.ErrClaimLost
	}
	delete(s.claims, c.Token)
	for _, id := range own.ids {
		if r, ok := s.messages[id]; ok {
			r.claimed = false
		}
	}
	changed := 0
	for _, o := range outcomes {
		if r, ok := s.messages[o.ID]; ok && o.Verdict != outbox.Release {
			s.apply(r, o)
			changed++
		}
	}
	return changed, nil
}

func (s *Store) apply(r *row, o outbox.Outcome) {
	if o.Verdict == outbox.Delivered {
		delete(s.messages, r.ID)
		s.lanes[r.lane].remove(r)
		return
	}
	r.attempts++
	r.class, r.uncertain = o.Class, r.uncertain || o.Class == outbox.ClassUnknown
	if o.Err != nil {
		r.err = o.Err.Error()
	}
	if o.Verdict != outbox.Defer {
		r.failures++
	}
	switch o.Verdict {
	case outbox.ParkKey:
		r.state = parked
	case outbox.ParkOne:
		r.state = skipped
	default:
		r.state, r.due = retrying, time.Now().Add(o.RetryIn)
	}
}
