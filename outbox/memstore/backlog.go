package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Backlog implements [outbox.Backlogger]. It counts everything.
func (s *Store) Backlog(ctx context.Context) (outbox.Backlog, error) {
	if err := ctx.Err(); err != nil {
		return outbox.Backlog{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	type kind struct {
		topic  string
		status outbox.Status
	}
	counts := make(map[kind]*outbox.BacklogCount)
	dead := s.claimedByTheDead(now)
	for i := range s.lanes {
		s.lanes[i].eachStatus(now, s.paused, dead, func(r *row, status outbox.Status) {
			k := kind{r.Topic, status}
			if counts[k] == nil {
				counts[k] = &outbox.BacklogCount{Topic: r.Topic, Status: status}
			}
			counts[k].Messages++
			counts[k].Oldest = max(counts[k].Oldest, r.age(now))
		})
	}
	var b outbox.Backlog
	for _, c := range counts {
		b.Counts = append(b.Counts, *c)
	}
	slices.SortFunc(b.Counts, func(a, b outbox.BacklogCount) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Status, b.Status))
	})
	return b, nil
}

// claimedByTheDead are the messages in claims that nobody will settle.
func (s *Store) claimedByTheDead(now time.Time) map[*row]bool {
	dead := make(map[*row]bool)
	for _, c := range s.claims {
		if own := s.sessions[c.session]; own != nil && own.alive(now) {
			continue
		}
		for _, id := range c.ids {
			dead[s.messages[id]] = true
		}
	}
	return dead
}

// age is the time since a message could first be claimed.
func (r *row) age(now time.Time) time.Duration {
	since := r.CreatedAt
	if r.AvailableAt.After(since) {
		since = r.AvailableAt
	}
	return max(0, now.Sub(since))
}
