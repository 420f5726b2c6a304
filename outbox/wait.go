package outbox

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// sleep waits for d, or until ctx ends or early rings; it reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// newJitter is seeded by a label and a number, so that relays are out of step and one relay is repeatable.
func newJitter(label string, n int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(label))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
}

// The pace at which a failing store is asked again.
const (
	storeBackoff    = 50 * time.Millisecond
	maxStoreBackoff = 5 * time.Second
)

// persist calls fn until it returns nil or a final error, or until ctx ends; failed is told of each other error.
func persist(
	ctx context.Context, jitter *rand.Rand, fn func(context.Context) error, final func(error) bool, failed func(error),
) error {
	for n := 1; ; n++ {
		err := fn(ctx)
		if err == nil || final(err) {
			return err
		}
		failed(err)
		if !sleep(ctx, backoff(n, storeBackoff, maxStoreBackoff, jitter), nil) {
			return err
		}
	}
}
