package outbox

import (
	"context"
	"time"
)

// Pruner is a store that keeps some things for a while, such as delivered messages in an archive and sessions that
// have ended. Prune removes up to limit of those whose time is over, in short transactions that wait for nobody, and
// returns how many; fewer than limit means that nothing more is due. The relay that holds lane 0 calls it now and then.
type Pruner interface {
	Prune(ctx context.Context, limit int) (int, error)
}

const (
	pruneEvery  = time.Minute
	pruneLimit  = 1000
	pruneRounds = 100 // in a row, before the next pause
)

// prune removes what is past its time, beside the workers and in no hurry.
func (t *tenure) prune(ctx context.Context) {
	p, ok := t.store.(Pruner)
	if !ok {
		return
	}
	jitter := newJitter(t.config.ID, -4)
	for sleep(ctx, pruneEvery/2+time.Duration(jitter.Int64N(int64(pruneEvery))), nil) {
		if !t.holds([]int{0}) {
			continue
		}
		if err := t.pruneAll(ctx, p); err != nil && ctx.Err() == nil {
			t.log.Warn("outbox: what is past its time was not removed", "error", err)
		}
	}
}

func (t *tenure) pruneAll(ctx context.Context, p Pruner) error {
	for range pruneRounds {
		call, cancel := context.WithTimeout(ctx, t.config.Lease)
		n, err := p.Prune(call, pruneLimit)
		cancel()
		if err != nil || n < pruneLimit {
			return err
		}
	}
	return nil
}
