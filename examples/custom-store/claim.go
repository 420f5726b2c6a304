package customstore

import (
	"context"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Claim implements [outbox.Store]. It picks first and writes afterwards, each lane's part by one swap of the lane's
// row as it was when the picking began: a lane that anything has happened to meanwhile is left to the next claim.
func (s *Store) Claim(_ context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	c := outbox.Claim{Token: r.Token, Session: r.Session, Worker: r.Worker}
	if !decode[session](s.table.Get(sessionKey(r.Session))).alive(s.table.Now()) {
		return c, nil
	}
	p := picker{ClaimRequest: r, perKey: make(map[string]int)}
	for _, lease := range r.Lanes {
		row, l := s.carryOut(lease.Lane)
		if l.Owner == r.Session && l.Epoch == lease.Epoch {
			p.lane(s, row, l, lease.Lane)
		}
	}
	for _, part := range p.parts {
		if s.record(r.Token, part, p.total == 1) {
			c.Messages = append(c.Messages, part.messages...)
		}
	}
	c.Suspects = p.suspects
	return c, nil
}

// part is what a claim wants of one lane.
type part struct {
	row      Row
	lane     lane
	messages []*outbox.Claimed
}

func (s *Store) record(token uuid.UUID, p part, alone bool) bool {
	own := claim{Alone: alone}
	for _, m := range p.messages {
		own.Numbers = append(own.Numbers, numberOf(m))
	}
	if p.lane.Claims == nil {
		p.lane.Claims = make(map[uuid.UUID]claim)
	}
	p.lane.Claims[token] = own
	return s.table.CompareAndSwap(p.row.Key, p.row.Version, encode(p.lane))
}

// numberOf reads the handle that this store has put on a claimed message.
func numberOf(m *outbox.Claimed) int64 {
	number, _ := m.Handle.(int64)
	return number
}

// picker chooses messages lane by lane until a bound is reached.
type picker struct {
	outbox.ClaimRequest
	parts        []part
	total, bytes int
	perKey       map[string]int
	full         bool
	suspects     bool
}

// lane reads one lane from its oldest message on. Numbers that were taken after the reading began are left alone:
// their rows may be there while an earlier one of their key was not when the scan passed its place.
func (p *picker) lane(s *Store, row Row, l lane, n int) {
	end := messageKey(n, decode[int64](s.table.Get(nextKey(n))))
	mine := part{row: row, lane: l}
	claimed, blocked := l.claimed(), make(map[string]bool)
	for m := range s.messages(n, end) {
		held := m.Key != "" && blocked[m.Key]
		if m.State.blocks() || claimed[m.Number] {
			blocked[m.Key] = true
		}
		switch {
		case held, claimed[m.Number], m.State == parked, m.State == skipped:
		case m.Due.After(s.table.Now()):
		case m.State == suspect:
			p.suspects = true
			p.offer(&mine, m, n, p.Suspect)
		default:
			p.offer(&mine, m, n, !p.Suspect)
		}
		if p.full && (p.suspects || !p.Suspect) {
			break
		}
	}
	if len(mine.messages) > 0 {
		p.parts = append(p.parts, mine)
	}
}

// offer takes m into the claim, unless a bound has been reached. A bound stops: nothing that comes later is taken.
func (p *picker) offer(mine *part, m message, n int, wanted bool) {
	if !wanted || p.full || p.PerKey > 0 && m.Key != "" && p.perKey[m.Key] == p.PerKey {
		return
	}
	if p.total > 0 && p.bytes+len(m.Payload) > p.Bytes {
		p.full = true
		return
	}
	mine.messages = append(mine.messages, &outbox.Claimed{
		Message: m.Message, Lane: n, Attempts: m.Attempts, Failures: m.Failures, Crashes: m.Crashes,
		Suspect: m.State == suspect, Handle: m.Number,
	})
	p.total++
	p.bytes += len(m.Payload)
	p.perKey[m.Key]++
	p.full = p.total == p.Limit || p.Suspect
}

func (l lane) claimed() map[int64]bool {
	claimed := make(map[int64]bool)
	for _, c := range l.Claims {
		for _, number := range c.Numbers {
			claimed[number] = true
		}
	}
	return claimed
}

// Void implements [outbox.Store]. Epoch and claim are in one row: a claim that is being made fails, or is undone.
func (s *Store) Void(_ context.Context, r outbox.ClaimRequest) error {
	for _, lease := range r.Lanes {
		edit(s.table, laneKey(lease.Lane), func(l *lane, _ bool) bool {
			delete(l.Claims, r.Token)
			if l.Owner == r.Session {
				l.moveTo(r.Session)
			}
			return true
		})
	}
	return nil
}
