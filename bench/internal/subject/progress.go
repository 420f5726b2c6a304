package subject

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Progress is the clock of a measurement, and counts what has been delivered.
type Progress struct {
	total int
	all   chan struct{}

	mu         sync.Mutex
	done       int
	began, end time.Time
	points     []point
}

type point struct {
	at   time.Time
	done int
}

// NewProgress returns the clock of a drain of total messages.
func NewProgress(total int) *Progress { return &Progress{total: total, all: make(chan struct{})} }

// Begin starts the clock.
func (p *Progress) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = time.Now()
	p.points = append(p.points, point{at: p.began})
}

// Add counts n messages as delivered.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.done
	p.done += n
	p.points = append(p.points, point{at: time.Now(), done: p.done})
	if before < p.total && p.done >= p.total {
		close(p.all)
	}
}

// All is closed when every message has been counted.
func (p *Progress) All() <-chan struct{} { return p.all }

// Wait waits until every message has been counted, broken is closed or has an error, or ctx ends.
func (p *Progress) Wait(ctx context.Context, broken <-chan error) error {
	select {
	case <-p.all:
		return nil
	case err := <-broken:
		return fmt.Errorf("deliver message %d of %d: %w", p.Done()+1, p.total, ended(err))
	case <-ctx.Done():
		return fmt.Errorf("deliver message %d of %d: %w", p.Done()+1, p.total, ctx.Err())
	}
}

func ended(err error) error {
	if err == nil {
		return errEarly
	}
	return err
}

// End stops the clock.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = time.Now()
}

// Done is the number of messages counted so far.
func (p *Progress) Done() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Took is the time between Begin and End.
func (p *Progress) Took() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end.Sub(p.began)
}

// Steady is the rate per second while the middle 80 % were delivered: without the start, and without the end, when some
// workers have nothing left. It is 0 for what was delivered in too few steps.
func (p *Progress) Steady() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, to := p.reached(p.total/10), p.reached(p.total-p.total/10)
	if took := to.at.Sub(from.at); took > 0 {
		return float64(to.done-from.done) / took.Seconds()
	}
	return 0
}

// reached returns the first point at which n messages were done, or the zero point.
func (p *Progress) reached(n int) point {
	for _, at := range p.points {
		if at.done >= n {
			return at
		}
	}
	return point{}
}
