package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Sessions implements [outbox.Overseer].
func (s *Store) Sessions(context.Context) ([]outbox.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var sessions []outbox.Session
	for id, own := range s.sessions {
		o := outbox.Session{
			ID: id, Relay: own.relay, Age: now.Sub(own.started), Expiry: own.expires.Sub(now), Stopped: own.stopped,
		}
		for n, l := range s.lanes {
			if l.owner == id {
				o.Lanes = append(o.Lanes, n)
			}
		}
		for _, c := range s.claims {
			if c.session == id {
				o.InFlight += len(c.ids)
			}
		}
		if !own.stopped || len(o.Lanes) > 0 || o.InFlight > 0 {
			sessions = append(sessions, o)
		}
	}
	slices.SortFunc(sessions, func(a, b outbox.Session) int {
		return cmp.Or(cmp.Compare(a.Relay, b.Relay), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return sessions, nil
}

// Failures implements [outbox.Overseer]. It looks at everything.
func (s *Store) Failures(context.Context) (outbox.Failures, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	dead := s.claimedByTheDead(now)
	var failed []outbox.FailureGroup
	for i := range s.lanes {
		s.lanes[i].eachStatus(now, s.paused, dead, func(r *row, status outbox.Status) {
			if r.attempts > 0 && failures[status] {
				failed = append(failed, outbox.FailureGroup{
					Status: status, Topic: r.Topic, Type: r.Type, Class: r.class, Error: r.err,
					Messages: 1, Oldest: now.Sub(r.CreatedAt), Example: r.ID,
				})
			}
		})
	}
	return outbox.Failures{Groups: outbox.GroupFailures(failed)}, nil
}

// failures are the statuses that a message has because something failed.
var failures = map[outbox.Status]bool{
	outbox.StatusParked: true, outbox.StatusSkipped: true, outbox.StatusRetrying: true, outbox.StatusSuspect: true,
}

// Audit implements [outbox.Overseer].
func (s *Store) Audit(_ context.Context, message uuid.UUID, before int64, limit int) ([]outbox.AuditEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []outbox.AuditEntry
	for _, e := range slices.Backward(s.audit) {
		if len(entries) < limit && (before == 0 || e.Number < before) && (message == uuid.Nil || message == e.Message) {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// record remembers an act for good.
func (s *Store) record(act outbox.Act, deed string, message uuid.UUID, scope outbox.Scope) {
	s.audit = append(s.audit, outbox.AuditEntry{
		Number: int64(len(s.audit)) + 1, At: time.Now(), Deed: deed, Act: act, Message: message, Scope: scope,
	})
}
