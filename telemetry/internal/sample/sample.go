// Package sample looks at what a store holds: seldom, one query at a time, and never for long.
package sample

import (
	"context"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Sample is a backlog as it was at a time.
type Sample struct {
	outbox.Backlog
	At time.Time
}

// Oldest returns the age that the oldest message with one of statuses has now, if it is still there; 0 if there was
// none.
func (s Sample) Oldest(statuses ...outbox.Status) time.Duration {
	if s.Messages(statuses...) == 0 {
		return 0
	}
	return max(0, s.Backlog.Oldest(statuses...)) + time.Since(s.At)
}

// Sampler takes samples of a store, no sooner than pause after the end of the last query.
type Sampler struct {
	store          outbox.Backlogger
	pause, timeout time.Duration

	turn  chan struct{} // held by who uses the fields below
	last  Sample
	err   error
	ended time.Time
}

// New returns a sampler of store. A query takes no longer than timeout.
func New(store outbox.Backlogger, pause, timeout time.Duration) *Sampler {
	return &Sampler{store: store, pause: pause, timeout: timeout, turn: make(chan struct{}, 1)}
}

// Get returns the latest sample, or why there is none: a query that failed takes the sample before it away. It waits
// for a query that runs, no longer than ctx. A query that ctx ended says nothing about the store, so the next caller
// tries again.
func (s *Sampler) Get(ctx context.Context) (Sample, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return Sample{}, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if s.ended.IsZero() || time.Since(s.ended) >= s.pause {
		s.query(ctx)
	}
	return s.last, s.err
}

func (s *Sampler) query(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.last = Sample{At: time.Now()}
	if s.last.Backlog, s.err = s.store.Backlog(bounded); s.err != nil {
		s.last = Sample{}
	}
	if s.ended = time.Now(); s.err != nil && ctx.Err() != nil {
		s.ended = time.Time{}
	}
}
