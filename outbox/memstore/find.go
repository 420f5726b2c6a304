package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Find implements [outbox.Inspector].
func (s *Store) Find(_ context.Context, f outbox.Filter, after int64, limit int) ([]outbox.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var found []outbox.Record
	for i := range s.lanes {
		found = s.lanes[i].show(found, f, after, now, s.paused)
	}
	slices.SortFunc(found, func(a, b outbox.Record) int { return cmp.Compare(a.Number, b.Number) })
	return found[:max(0, min(limit, len(found)))], nil
}

// show adds the records of the lane that match.
func (l *lane) show(
	found []outbox.Record, f outbox.Filter, after int64, now time.Time, paused func(*row) bool,
) []outbox.Record {
	l.eachStatus(now, paused, nil, func(r *row, status outbox.Status) {
		if r.seq > after && r.matches(f, status, now) {
			record := r.toRecord(status, now)
			if f.WithoutPayload {
				record.Payload = nil
			}
			found = append(found, record)
		}
	})
	return found
}

// eachStatus tells the status of each message, by number; the claims of those in free do not count.
func (l *lane) eachStatus(
	now time.Time, paused func(*row) bool, free map[*row]bool, do func(*row, outbox.Status),
) {
	blocked := make(map[string]bool)
	for _, r := range l.rows {
		status := r.status(now, r.claimed && !free[r], paused(r), blocked[r.Key])
		if r.Key != "" && (r.state.blocks() || status == outbox.StatusPaused) {
			blocked[r.Key] = true
		}
		do(r, status)
	}
}

func (r *row) status(now time.Time, claimed, paused, held bool) outbox.Status {
	switch {
	case r.state == parked:
		return outbox.StatusParked
	case r.state == skipped:
		return outbox.StatusSkipped
	case claimed:
		return outbox.StatusInFlight
	case r.state == scheduled && r.due.After(now):
		return outbox.StatusScheduled
	case paused:
		return outbox.StatusPaused
	case r.state == retrying:
		return outbox.StatusRetrying
	case r.state == suspect:
		return outbox.StatusSuspect
	case held:
		return outbox.StatusHeld
	}
	return outbox.StatusPending
}

func (r *row) matches(f outbox.Filter, status outbox.Status, now time.Time) bool {
	if f.ID != uuid.Nil && f.ID != r.ID {
		return false
	}
	for _, field := range []struct{ want, got string }{
		{string(f.Status), string(status)},
		{f.Topic, r.Topic},
		{f.Key, r.Key},
		{f.Type, r.Type},
		{f.Tenant, r.Tenant},
		{string(f.Class), string(r.class)},
	} {
		if field.want != "" && field.want != field.got {
			return false
		}
	}
	return strings.Contains(r.err, f.Error) && !r.CreatedAt.After(now.Add(-f.OlderThan))
}

func (r *row) toRecord(status outbox.Status, now time.Time) outbox.Record {
	m := *r.Message
	record := outbox.Record{
		Message: &m, Number: r.seq, Lane: r.lane, Status: status,
		Attempts: r.attempts, Failures: r.failures, Crashes: r.crashes,
		Uncertain: r.uncertain, LastClass: r.class, LastError: r.err, Size: len(m.Payload),
	}
	if r.state == scheduled || r.state == retrying {
		record.DueIn = max(0, r.due.Sub(now))
	}
	return record
}
