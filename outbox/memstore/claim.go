package memstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Claim implements [outbox.Store].
func (s *Store) Claim(_ context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	c := outbox.Claim{Token: r.Token, Session: r.Session, Worker: r.Worker}
	if own := s.sessions[r.Session]; own == nil || !own.alive(now) {
		return c, nil
	}
	var due, suspects []*row
	s.turn++ // another lane comes first each time, so that a full one starves none
	for i := range r.Lanes {
		l, room := r.Lanes[(i+s.turn)%len(r.Lanes)], r.Limit-len(due)
		if r.Suspect {
			room = math.MaxInt // suspects may stand anywhere
		}
		if own := &s.lanes[l.Lane]; own.owner == r.Session && own.epoch == l.Epoch && room > 0 {
			due, suspects = own.due(due, suspects, room, now, s.paused)
		}
	}
	bySeq := func(a, b *row) int { return cmp.Compare(a.seq, b.seq) }
	slices.SortFunc(due, bySeq)
	slices.SortFunc(suspects, bySeq)
	c.Suspects = len(suspects) > 0
	if r.Suspect {
		due = suspects[:min(1, len(suspects))]
	}
	picked := bound(due, r)
	c.Dry = !r.Suspect && len(picked) == len(due) && len(due) < r.Limit && !slices.ContainsFunc(due, (*row).blocks)
	if len(picked) > 0 {
		s.put(r, picked)
	}
	for _, p := range picked {
		c.Messages = append(c.Messages, p.toClaimed())
	}
	return c, nil
}

// due adds up to limit messages of the lane that may be claimed now, oldest first: suspects apart, and nothing behind
// a message that blocks or is paused.
func (l *lane) due(due, suspects []*row, limit int, now time.Time, paused func(*row) bool) (_, _ []*row) {
	blocked := make(map[string]bool)
	for _, r := range l.rows {
		held := r.Key != "" && blocked[r.Key]
		if r.state.blocks() || r.claimed {
			blocked[r.Key] = true
		}
		stays := paused(r) && !r.due.After(now)
		if stays {
			blocked[r.Key] = true
		}
		switch {
		case held, stays, r.claimed, r.state == parked, r.state == skipped, r.due.After(now):
		case r.state == suspect:
			suspects = append(suspects, r)
		default:
			due = append(due, r)
			limit--
		}
		if limit == 0 {
			break
		}
	}
	return due, suspects
}

// bound cuts due at the bounds of r. A bound stops: what comes after it in a key is not taken either.
func bound(due []*row, r outbox.ClaimRequest) []*row {
	var picked []*row
	bytes, perKey := 0, make(map[string]int)
	for _, d := range due {
		bytes += len(d.Payload)
		if len(picked) == r.Limit || len(picked) > 0 && bytes > r.Bytes {
			break
		}
		if d.Key != "" && r.PerKey > 0 {
			if perKey[d.Key] == r.PerKey {
				bytes -= len(d.Payload)
				continue
			}
			perKey[d.Key]++
		}
		picked = append(picked, d)
	}
	return picked
}

// blocks reports whether nothing later of its key may be claimed.
func (r *row) blocks() bool { return r.state.blocks() }

func (s *Store) put(r outbox.ClaimRequest, picked []*row) {
	c := &claim{session: r.Session}
	for _, p := range picked {
		p.claimed = true
		c.ids = append(c.ids, p.ID)
	}
	s.claims[r.Token] = c
}

func (r *row) toClaimed() *outbox.Claimed {
	m := *r.Message // a relay's publisher must not change what is stored
	return &outbox.Claimed{
		Message: &m, Lane: r.lane, Attempts: r.attempts, Failures: r.failures, Crashes: r.crashes,
		Suspect: r.state == suspect, Handle: r.seq,
	}
}

// Void implements [outbox.Store].
func (s *Store) Void(_ context.Context, r outbox.ClaimRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range r.Lanes {
		if s.lanes[l.Lane].owner == r.Session {
			s.move(l.Lane, r.Session)
		}
	}
	if c, ok := s.claims[r.Token]; ok {
		delete(s.claims, r.Token)
		for _, id := range c.ids {
			s.messages[id].claimed = false
		}
	}
	return nil
}
