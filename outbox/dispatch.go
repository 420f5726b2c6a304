package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// dispatcher sets the workers of one session to work. While there is little to do, one worker makes one claim for
// all lanes, so that an idle relay asks once and a single message costs one claim and one settle. When the claims
// grow, the lanes are split among the workers until all of them have run dry. A lane is thus never in two hands.
type dispatcher struct {
	*tenure
	workers []*worker
	news    *bell // rings when something was committed
}

// run works until ctx ends, the session ends, or a worker says that the relay cannot go on.
func (d *dispatcher) run(ctx context.Context) error {
	p := newPacer(d.config.Poll, d.jitterOf(-2))
	for ctx.Err() == nil {
		news, changed := d.news.next(), d.changed.next()
		n, err := d.workers[0].cycle(ctx, d.grip(0, 1))
		switch {
		case err != nil:
			return err
		case n > d.config.Batch/8 && len(d.workers) > 1:
			if err := d.spread(ctx); err != nil {
				return err
			}
		case n == 0:
			p.wait(ctx, news, changed, nil)
			continue
		}
		p.reset()
	}
	return context.Cause(ctx)
}

// spread lets every worker drain its own lanes and returns when all of them are idle at the same time.
func (d *dispatcher) spread(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := newRoster(len(d.workers))
	var wg sync.WaitGroup
	for _, w := range d.workers {
		wg.Go(func() {
			if err := d.drain(ctx, w, idle); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (d *dispatcher) drain(ctx context.Context, w *worker, idle *roster) error {
	p := newPacer(d.config.Poll, w.jitter)
	for ctx.Err() == nil {
		news, changed := d.news.next(), d.changed.next()
		n, err := w.cycle(ctx, d.grip(w.number, len(d.workers)))
		switch {
		case err != nil:
			return err
		case n > 0:
			p.reset()
			continue
		}
		all := idle.rest()
		p.wait(ctx, news, changed, all)
		if !idle.rise() {
			return nil
		}
	}
	return nil
}

// roster counts who is resting.
type roster struct {
	mu      sync.Mutex
	working int
	empty   chan struct{} // closed when nobody works any more
}

func newRoster(n int) *roster { return &roster{working: n, empty: make(chan struct{})} }

// rest takes a worker off; the channel is closed once the last one is.
func (r *roster) rest() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working--
	if r.working == 0 {
		close(r.empty)
	}
	return r.empty
}

// rise puts a worker back on, unless everybody has been resting.
func (r *roster) rise() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.empty:
		return false
	default:
		r.working++
		return true
	}
}

// pacer spaces the looks at a store that has nothing: from a twentieth of top up to top.
type pacer struct {
	top    time.Duration
	empty  int
	jitter *rand.Rand
}

func newPacer(top time.Duration, jitter *rand.Rand) *pacer { return &pacer{top: top, jitter: jitter} }

func (p *pacer) reset() { p.empty = 0 }

// wait ends early when something was committed, the lanes changed, or done closes (nil never does).
func (p *pacer) wait(ctx context.Context, news, changed, done <-chan struct{}) {
	p.empty++
	t := time.NewTimer(backoff(p.empty, p.top/20, p.top, p.jitter))
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
		p.empty = 0
	case <-changed:
	case <-done:
	case <-ctx.Done():
	}
}
