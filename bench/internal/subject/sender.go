package subject

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/postroom/postroom/bench/internal/load"
)

// sender hands batches to a broker and waits for its word on all of them. One goroutine uses it at a time.
type sender interface {
	Send(ctx context.Context, messages []load.Message) error
	Close() error
}

// newSender opens a sender; it is called once for each worker.
type newSender func(site Site) (sender, error)

// discard is the sender of those that measure the database alone.
type discard struct{}

func newDiscard(Site) (sender, error) { return discard{}, nil }

func (discard) Send(context.Context, []load.Message) error { return nil }
func (discard) Close() error                               { return nil }

// eachWorker runs work once for each worker, beside one another, with a sender of its own. The first error ends all.
func eachWorker(
	ctx context.Context, site Site, open newSender, work func(ctx context.Context, worker int, to sender) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	for w := range Workers {
		group.Go(func() error {
			to, err := open(site)
			if err != nil {
				return err
			}
			closing := sync.OnceValue(to.Close)
			defer func() { _ = closing() }()
			if err := work(ctx, w, to); err != nil {
				return err
			}
			return closing()
		})
	}
	return group.Wait()
}
