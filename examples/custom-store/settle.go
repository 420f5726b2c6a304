package customstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Settle implements [outbox.Store]. In each lane it puts the outcomes in the place of the claim, by one swap, and
// then carries them out.
func (s *Store) Settle(_ context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	byLane := make(map[int][]outbox.Outcome)
	for _, o := range outcomes {
		byLane[o.Lane] = append(byLane[o.Lane], o)
	}
	changed, lost := 0, false
	for n, own := range byLane {
		count, ok := s.decide(n, c.Token, own)
		if !ok {
			lost = true
			continue
		}
		changed += count
		s.carryOut(n)
	}
	if lost {
		return changed, outbox.ErrClaimLost
	}
	return changed, nil
}

// decide takes the claim by its token; whoever has it away first decides.
func (s *Store) decide(n int, token uuid.UUID, outcomes []outbox.Outcome) (changed int, ok bool) {
	ok = edit(s.table, laneKey(n), func(l *lane, _ bool) bool {
		if _, there := l.Claims[token]; !there {
			return false
		}
		delete(l.Claims, token)
		changed = 0
		for _, o := range outcomes {
			if o.Verdict == outbox.Release || s.table.Get(messageKey(n, numberOf(o.Claimed))).Version == 0 {
				continue
			}
			l.Writes = append(l.Writes, s.write(o))
			changed++
		}
		return true
	})
	return changed, ok
}

// write is what becomes of a message. Nothing but this claim can have changed it since it was claimed.
func (s *Store) write(o outbox.Outcome) write {
	w := write{Number: numberOf(o.Claimed)}
	if o.Verdict == outbox.Delivered {
		w.Gone = true
		return w
	}
	w.Attempts, w.Failures, w.Crashes = o.Attempts+1, o.Failures, o.Crashes
	if o.Verdict != outbox.Defer {
		w.Failures++
	}
	switch o.Verdict {
	case outbox.ParkKey:
		w.State = parked
	case outbox.ParkOne:
		w.State = skipped
	default:
		w.State, w.Due = retrying, s.table.Now().Add(o.RetryIn)
	}
	return w
}

// carryOut writes what has been decided about a lane's messages into their rows, and returns the lane's row without
// open decisions. Several may do it at once: a message is read first, and written only if the decisions still stand
// after that, so a slow one cannot write over what came later.
func (s *Store) carryOut(n int) (Row, lane) {
	for {
		row := s.table.Get(laneKey(n))
		l := decode[lane](row)
		if len(l.Writes) == 0 {
			return row, l
		}
		if s.apply(n, row, l.Writes) {
			l.Writes = nil
			s.table.CompareAndSwap(row.Key, row.Version, encode(l))
		}
	}
}

func (s *Store) apply(n int, decided Row, writes []write) bool {
	for _, w := range writes {
		row := s.table.Get(messageKey(n, w.Number))
		if s.table.Get(decided.Key).Version != decided.Version {
			return false
		}
		if row.Version == 0 {
			continue // somebody has been faster
		}
		var value []byte
		if !w.Gone {
			m := decode[message](row)
			m.standing = w.standing
			value = encode(m)
		}
		s.table.CompareAndSwap(row.Key, row.Version, value)
	}
	return true
}
