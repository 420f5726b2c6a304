package outbox

import (
	"context"
	"sync"
)

// dispatcher sets the workers of one session to work. While there is little to do, one worker makes all claims: for the
// lanes that the news names, so that a single message costs one narrow claim and one settle, and every now and then for
// all lanes, so that an idle relay asks once. When the claims grow, the lanes are split among the workers until all of
// them have run dry. A lane is thus never in two hands.
type dispatcher struct {
	*tenure
	workers []*worker
}

// run works until ctx ends, the session ends, or a worker says that the relay cannot go on. It looks at all lanes at
// first, when the pacer says so, however many news come, and again as long as that finds something. What a claim for
// the news leaves behind is looked for in all lanes, too.
func (d *dispatcher) run(ctx context.Context) error {
	p := newPacer(d.config.Poll, d.jitterOf(-2))
	for ctx.Err() == nil {
		lanes, news := d.news.take()
		g, all := d.grip(0, 1), lanes == nil || p.due()
		if !all {
			g = g.only(lanes)
		}
		if !all && len(g.lanes) == 0 {
			p.wait(ctx, news, nil)
			continue
		}
		n, more, err := d.workers[0].cycle(ctx, g)
		switch {
		case err != nil:
			return err
		case n > d.config.Batch/8 && len(d.workers) > 1:
			if err := d.spread(ctx); err != nil {
				return err
			}
			p.reset()
		case n > 0 && (all || more):
			p.reset()
		case all:
			p.missed()
		case more:
			p.soon()
		}
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
		news := d.news.next()
		n, _, err := w.cycle(ctx, d.grip(w.number, len(d.workers)))
		switch {
		case err != nil:
			return err
		case n > 0:
			p.reset()
			continue
		}
		p.missed()
		p.wait(ctx, news, idle.rest())
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
