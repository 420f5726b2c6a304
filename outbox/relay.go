package outbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errRanBefore = errors.New("outbox: a relay runs once: make a new one")
	errStop      = errors.New("outbox: stop took longer than StopTimeout: what is in flight may arrive twice, lanes lapse")
)

// Relay publishes what a store holds, in order, and settles it by the broker's word.
type Relay struct {
	store     Store
	publisher Publisher
	config    RelayConfig
	gauge     *gauge
	observer  *observer
	ran       atomic.Bool
}

// NewRelay returns a relay from store to publisher, or a [*FieldError] that names what is wrong in config. It owns
// neither of the two and closes none.
func NewRelay(store Store, publisher Publisher, config RelayConfig) (*Relay, error) {
	switch {
	case store == nil:
		return nil, &FieldError{Field: "store", Code: CodeMissing}
	case publisher == nil:
		return nil, &FieldError{Field: "publisher", Code: CodeMissing}
	}
	config = config.withDefaults()
	if err := config.check(store); err != nil {
		return nil, err
	}
	if _, ok := store.(LaneRenewer); ok {
		config.MaxPublishDuration = 0
	}
	return &Relay{
		store: store, publisher: publisher, config: config, gauge: newGauge(config), observer: newObserver(config),
	}, nil
}

// Run relays until ctx ends, then finishes the calls in hand, settles them, gives up its lanes and returns nil. What
// takes longer than StopTimeout is left to lapse, which is an error. A relay does not start beside another one of
// this process on the same store with another Mode, Policy, Topics, MaxCrashes or Lease: a [*FieldError]. Errors of
// the database and of the broker never end it; an [*ExhaustedError], and a store or publisher that breaks its
// contract, do.
func (r *Relay) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return errRanBefore
	}
	leave, err := r.join()
	if err != nil {
		return r.gauge.ended(err)
	}
	defer leave()
	hard, cancel := deadlineAfter(ctx, r.config.StopTimeout)
	defer cancel()
	r.gauge.enter(StateStarting)
	defer context.AfterFunc(ctx, func() { r.gauge.enter(StateDraining) })()
	return r.gauge.ended(r.runSessions(ctx, hard))
}

// runSessions runs one session after another, until one ends for another reason than that it was taken for dead.
func (r *Relay) runSessions(ctx, hard context.Context) error {
	b, jitter := newBreaker(r.publisher, newJitter(r.config.ID, -3)), newJitter(r.config.ID, -4)
	for short := 1; ; short++ {
		began := time.Now()
		err := r.runSession(ctx, hard, b)
		if !isSessionEnded(err) {
			return err
		}
		if time.Since(began) > r.config.Lease {
			short = 1
		}
		r.config.Logger.Warn("outbox: session ended, a new one starts", "relay", r.config.ID)
		if !sleep(ctx, backoff(short, storeBackoff, maxStoreBackoff, jitter), nil) {
			return nil
		}
	}
}

// runSession is one session. Calls of store or publisher that do not come back in time are left behind, and so are
// the session's lanes.
func (r *Relay) runSession(ctx, hard context.Context, b *breaker) error {
	done := make(chan error, 1)
	go func() { done <- r.serve(ctx, hard, b) }()
	select {
	case err := <-done:
		return err
	case <-hard.Done():
		return errStop
	}
}

// serve keeps the lanes of a new session for as long as its workers need them, and releases them after.
func (r *Relay) serve(ctx, hard context.Context, b *breaker) error {
	t := newTenure(r.store, r.config, r.gauge, r.observer)
	work, stopWork := context.WithCancelCause(ctx)
	keep, stopKeep := context.WithCancel(hard)
	d := r.newDispatcher(hard, t, b)

	var wg sync.WaitGroup
	wg.Go(func() { stopWork(t.keep(keep)) })
	wg.Go(func() { d.listen(work) })
	wg.Go(func() { t.prune(work) })
	err := d.run(work)
	stopWork(nil)
	stopKeep()
	wg.Wait()
	if lost := t.lanes(); isSessionEnded(err) && lost > 0 {
		tell(r.observer, r.observer.LeaseLost, LeaseEvent{Lanes: lost})
	}
	r.gauge.update(func(s *Snapshot) { s.hold(nil) })
	return t.end(ctx, hard, err)
}

// end releases the lanes of a session that has not ended by itself, and says whether run ended as it should.
func (t *tenure) end(ctx, hard context.Context, err error) error {
	if isSessionEnded(err) {
		return err
	}
	if hard.Err() != nil {
		return errStop
	}
	t.release(hard)
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return err
}

func (r *Relay) newDispatcher(hard context.Context, t *tenure, b *breaker) *dispatcher {
	d := &dispatcher{tenure: t}
	for n := range r.config.Workers {
		t.readers = append(t.readers, newNews())
		d.workers = append(d.workers, &worker{
			tenure: t, news: t.readers[n], publisher: r.publisher, keyOrdered: KeyOrdered(r.publisher), breaker: b,
			jitter: t.jitterOf(n), number: n, hard: hard, waiting: waiting{},
		})
	}
	return d
}

// listen passes on what the store says about commits.
func (d *dispatcher) listen(ctx context.Context) {
	w, ok := d.store.(Waker)
	if !ok {
		return
	}
	for lanes := range w.Wake(ctx) {
		if lanes != nil && len(lanes) == 0 {
			d.reacquire()
		} else if d.holds(lanes) {
			d.hear()
			d.tell(lanes)
		}
	}
}

// deadlineAfter returns a context that ends d after ctx has ended.
func deadlineAfter(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(d, cancel)
		context.AfterFunc(hard, func() { t.Stop() })
	})
	return hard, func() { unhook(); cancel() }
}
