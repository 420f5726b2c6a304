package subject

import (
	"context"
	"slices"

	"github.com/postroom/postroom/bench/internal/load"
)

// publishing is the broker alone: batches that lie ready in memory, as many workers as the relay has.
type publishing struct {
	Site
	open   newSender
	shares [][]load.Message
}

func openPublishing(open newSender) func(context.Context, Site) (Subject, error) {
	return func(_ context.Context, site Site) (Subject, error) {
		return &publishing{Site: site, open: open}, nil
	}
}

// Fill gives each worker keys of its own, as lanes do, so that order can be kept.
func (p *publishing) Fill(context.Context) error {
	shares := make([][]load.Message, Workers)
	for m, err := range p.Load.All() {
		if err != nil {
			return err
		}
		w := int(m.Key[len(m.Key)-1]) % Workers
		shares[w] = append(shares[w], m)
	}
	p.shares = shares
	return nil
}

func (p *publishing) Drain(ctx context.Context) error {
	p.Progress.Begin()
	defer p.Progress.End()
	return eachWorker(ctx, p.Site, p.open, func(ctx context.Context, worker int, to sender) error {
		for messages := range slices.Chunk(p.shares[worker], batch) {
			if err := to.Send(ctx, messages); err != nil {
				return err
			}
			p.Progress.Add(len(messages))
		}
		return nil
	})
}

func (p *publishing) Close() error { return nil }
