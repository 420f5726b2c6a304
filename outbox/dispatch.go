package outbox

import (
	"context"
	"sync"
)

// dispatcher sets the workers of one session to work. While there is little to do, one worker makes all claims: for the
// lanes that the news names, so that a single message costs one narrow claim and one settle, and every now and then for
// all lanes, so that an idle relay asks once. When the claims grow, the lanes are split among the workers until the
// claims of all of them are small again. A lane is thus never in two hands.
type dispatcher struct {
	*tenure
	workers []*worker
}

// run works until ctx ends, the session ends, or a worker says that the relay cannot go on.
func (d *dispatcher) run(ctx context.Context) error {
	p := newPacer(d.config.Poll, d.jitterOf(-2))
	for ctx.Err() == nil {
		n, _, err := d.turn(ctx, d.workers[0], 1, p, nil)
		if err != nil {
			return err
		}
		if n > d.config.Batch/8 && len(d.workers) > 1 {
			if err := d.spread(ctx); err != nil {
				return err
			}
			p.reset()
		}
	}
	return context.Cause(ctx)
}

// turn lets w look once into its part of the lanes, or wait until there is something to look for; a wait ends when done
// closes, too. It looks at all lanes of the part at first, when p says so, however many news come, and again as long as
// that finds what no news has told of. What a claim for the news leaves behind is looked for in all of them, too.
func (d *dispatcher) turn(
	ctx context.Context, w *worker, parts int, p *pacer, done <-chan struct{},
) (n int, more bool, err error) {
	told, next := w.news.take()
	g, all := d.grip(w.number, parts), told == nil || p.due()
	g.told = told
	if !all {
		g = g.only(told)
	}
	if !all && len(g.lanes) == 0 {
		p.wait(ctx, next, done)
		return 0, false, nil
	}
	n, more, err = w.cycle(ctx, g)
	switch {
	case n > 0 && more:
		p.reset()
	case all:
		p.missed()
	case more:
		p.soon()
	}
	return n, more, err
}

// spread lets every worker drain its own lanes and returns when none of them has much to do.
func (d *dispatcher) spread(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	calm := newRoster(len(d.workers))
	var wg sync.WaitGroup
	for _, w := range d.workers {
		wg.Go(func() {
			if err := d.drain(ctx, w, calm); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// drain works until the last claim of every worker was small: so small that one worker can make all of them.
func (d *dispatcher) drain(ctx context.Context, w *worker, calm *roster) error {
	p, few := newPacer(d.config.Poll, w.jitter), d.config.Batch/8/len(d.workers)
	for ctx.Err() == nil && !calm.all() {
		n, more, err := d.turn(ctx, w, len(d.workers), p, calm.full)
		if err != nil {
			return err
		}
		calm.put(w.number, n == 0 || n <= few && !more)
	}
	return nil
}

// roster tells when the names of all n are on it at the same time.
type roster struct {
	mu   sync.Mutex
	n    int
	on   map[int]bool
	full chan struct{} // closed once all were on it
}

func newRoster(n int) *roster { return &roster{n: n, on: map[int]bool{}, full: make(chan struct{})} }

// put puts who on, or takes it off. Nothing changes once all were on it.
func (r *roster) put(who int, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all() {
		return
	}
	if on {
		r.on[who] = true
	} else {
		delete(r.on, who)
	}
	if len(r.on) == r.n {
		close(r.full)
	}
}

// all reports whether all were on it.
func (r *roster) all() bool {
	select {
	case <-r.full:
		return true
	default:
		return false
	}
}
