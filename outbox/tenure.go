package outbox

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// tenure is what one session of a relay holds, and since when by the relay's own clock. Keeping it is the work of
// keep; workers only read it.
type tenure struct {
	store    Store
	config   RelayConfig
	session  uuid.UUID
	log      *slog.Logger
	gauge    *gauge
	observer *observer
	readers  []*news       // who are told of commits, and of lanes that were acquired
	hurry    chan struct{} // asks for a round at once

	mu    sync.Mutex
	held  []Lease
	since time.Time // from before the call that wrote the lease: a slow answer ages it
	heard time.Time // of the first news since the last claim
}

func newTenure(store Store, config RelayConfig, g *gauge, o *observer) *tenure {
	session := uuid.New()
	return &tenure{
		store: store, config: config, session: session, gauge: g, observer: o,
		log:   config.Logger.With("relay", config.ID, "session", session),
		hurry: make(chan struct{}, 1),
	}
}

// grip is the lanes that a worker may claim, under a lease that was written at since.
type grip struct {
	lanes []Lease
	since time.Time
	told  []int // lanes that the news names; nil stands for any
}

// grip returns the lanes of worker among workers that are not draining.
func (t *tenure) grip(worker, workers int) grip {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := grip{since: t.since}
	for _, l := range t.held {
		if !l.Draining && l.Lane%workers == worker {
			g.lanes = append(g.lanes, l)
		}
	}
	return g
}

// only leaves the lanes that are named.
func (g grip) only(named []int) grip {
	g.lanes = slices.DeleteFunc(g.lanes, func(l Lease) bool { return !slices.Contains(named, l.Lane) })
	return g
}

// holds reports whether one of lanes is held; nil stands for any.
func (t *tenure) holds(lanes []int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lanes == nil || slices.ContainsFunc(t.held, func(l Lease) bool { return slices.Contains(lanes, l.Lane) })
}

// renewed returns since when the lease lives.
func (t *tenure) renewed() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// lanes returns how many are held.
func (t *tenure) lanes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.held)
}

// tell passes on news of lanes, nil for any.
func (t *tenure) tell(lanes []int) {
	for _, n := range t.readers {
		n.add(lanes)
	}
}

// hear takes note of the time of news.
func (t *tenure) hear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heard.IsZero() {
		t.heard = time.Now()
	}
}

// waited returns how long news has been waiting for the claim that is about to be made; zero without news.
func (t *tenure) waited() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heard.IsZero() {
		return 0
	}
	waited := time.Since(t.heard)
	t.heard = time.Time{}
	return waited
}

// reacquire makes the next round come at once.
func (t *tenure) reacquire() {
	select {
	case t.hurry <- struct{}{}:
	default:
	}
}

// keep acquires and renews until ctx ends, which is nil, or the session has ended, which is ErrSessionEnded.
func (t *tenure) keep(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := t.renewLoop(ctx); err != nil {
			cancel(err)
		}
	})
	err := t.acquireLoop(ctx)
	cancel(err)
	wg.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, ErrSessionEnded) {
		return cause
	}
	return nil
}

func (t *tenure) acquireLoop(ctx context.Context) error {
	jitter := newJitter(t.config.ID, -1)
	for failed := 0; ; {
		next, err := t.acquire(ctx)
		switch {
		case errors.Is(err, ErrSessionEnded):
			return err
		case err != nil && ctx.Err() == nil:
			failed++
			t.gauge.acquired(nil, err)
			t.log.Warn("outbox: lanes were not acquired", "error", err, "failures", failed)
			next = backoff(failed, storeBackoff, min(maxStoreBackoff, t.config.Renew), jitter)
		case err == nil:
			failed = 0
		}
		hurry := t.hurry
		if failed > 0 {
			hurry = nil // nobody shortens the pause of a store that fails
		}
		if !sleep(ctx, next, hurry) {
			return nil
		}
	}
}

// acquire makes one round and returns the time until the next one.
func (t *tenure) acquire(ctx context.Context) (time.Duration, error) {
	before := time.Now()
	ctx, cancel := context.WithTimeout(ctx, t.config.Lease)
	defer cancel()
	lanes, err := t.store.AcquireLanes(ctx, LaneRequest{
		Session: t.session, Relay: t.config.ID, Lease: t.config.Lease, Drained: t.draining(),
	})
	if err != nil {
		return 0, err
	}
	if t.hold(lanes.Held, before) {
		t.tell(nil)
	}
	t.gauge.acquired(lanes.Held, nil)
	t.gauge.enter(StateReady)
	return t.nextRound(lanes), nil
}

// hold takes over what a round has brought, and reports whether workers may have been waiting for it: for other lanes,
// or for a lease that had grown old.
func (t *tenure) hold(lanes []Lease, since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	late := since.Sub(t.since) > 2*t.config.Renew
	changed := !slices.Equal(t.held, lanes)
	t.held, t.since = lanes, since
	return late || changed
}

// nextRound is due after Renew, sooner to recover an expired session or to hand over a lane that drains.
func (t *tenure) nextRound(lanes Lanes) time.Duration {
	next := t.config.Renew
	if lanes.Expiry > 0 {
		next = min(next, lanes.Expiry)
	}
	if slices.ContainsFunc(lanes.Held, func(l Lease) bool { return l.Draining }) {
		next = min(next, t.config.Poll)
	}
	return next
}

func (t *tenure) draining() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lanes []int
	for _, l := range t.held {
		if l.Draining {
			lanes = append(lanes, l.Lane)
		}
	}
	return lanes
}

// renewLoop keeps the lease alive beside a round that hangs. A store that cannot renew lives by its rounds.
func (t *tenure) renewLoop(ctx context.Context) error {
	renewer, ok := t.store.(LaneRenewer)
	if !ok {
		return nil
	}
	for sleep(ctx, max(t.renewIn(), t.config.Renew/8), nil) {
		if t.renewIn() > 0 {
			continue // a round of acquiring has renewed it meanwhile
		}
		if err := t.renew(ctx, renewer); errors.Is(err, ErrSessionEnded) {
			return err
		} else if err != nil && ctx.Err() == nil {
			t.log.Warn("outbox: lease was not renewed", "error", err)
		}
	}
	return nil
}

func (t *tenure) renew(ctx context.Context, renewer LaneRenewer) error {
	before := time.Now()
	ctx, cancel := context.WithTimeout(ctx, t.config.Lease)
	defer cancel()
	if err := renewer.RenewLanes(ctx, t.session, t.config.Lease); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.since) < t.config.Lease { // an answer that comes after the lease ran out revives nothing
		t.since = before
	}
	return nil
}

// renewIn is the time until a renewal is due, a little after a round of acquiring would have been.
func (t *tenure) renewIn() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		return t.config.Renew
	}
	return t.config.Renew + t.config.Renew/4 - time.Since(t.since)
}

// release ends the session at once, so that peers need not wait for its lease to run out.
func (t *tenure) release(ctx context.Context) {
	releaser, ok := t.store.(LaneReleaser)
	if !ok {
		return
	}
	if err := releaser.ReleaseLanes(ctx, t.session); err != nil {
		t.log.Warn("outbox: lanes were not released, they lapse", "error", err)
	}
}

// jitterOf gives each worker its own source, since a source is not safe for concurrent use.
func (t *tenure) jitterOf(worker int) *rand.Rand { return newJitter(t.config.ID, worker) }
