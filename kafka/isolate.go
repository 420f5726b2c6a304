package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/postroom/postroom/outbox"
)

// share is a refused batch, cut into pieces that are sent again in their order: each is taken, or cut in
// two, or is one record, and then it is this record that the broker does not want.
type share struct{ pieces [][]refusal }

// isolate finds the refused records among refused and gets the others accepted. Records stay in their
// partitions, and one flush has one piece for each partition, so a piece is a batch. Keys stay in order: a
// piece is sent when all before it are settled, without the keys that have failed by then.
func (c *call) isolate(ctx context.Context, refused []refusal) {
	shares := c.shares(refused)
	for len(shares) > 0 {
		if c.over(ctx) {
			c.giveUp(shares)
			return
		}
		again := c.sendFirsts(ctx, shares)
		shares = c.advance(shares, again)
	}
}

// shares sorts refused by partition, each cut in two, and judges those that were alone in their batch.
func (c *call) shares(refused []refusal) []*share {
	type place struct {
		topic     string
		partition int32
	}
	batches := make(map[place][]refusal)
	var order []place
	for _, f := range refused {
		p := place{c.records[f.at].Topic, c.records[f.at].Partition}
		if batches[p] == nil {
			order = append(order, p)
		}
		batches[p] = append(batches[p], f)
	}
	var shares []*share
	for _, p := range order {
		s := &share{}
		c.cut(s, batches[p])
		if len(s.pieces) > 0 {
			shares = append(shares, s)
		}
	}
	return shares
}

// cut puts the halves of a refused batch before the other pieces of s, or judges the only record in it.
func (c *call) cut(s *share, batch []refusal) {
	if len(batch) == 1 {
		c.fail(batch[0].at, c.explain(batch[0]))
		return
	}
	half := len(batch) / 2
	s.pieces = append([][]refusal{batch[:half], batch[half:]}, s.pieces...)
}

// sendFirsts sends the first piece of every share, and returns what was refused again, by record.
func (c *call) sendFirsts(ctx context.Context, shares []*share) map[int]refusal {
	var flush []int
	for _, s := range shares {
		for _, f := range s.pieces[0] {
			flush = append(flush, f.at)
		}
	}
	again := make(map[int]refusal)
	for _, f := range c.send(ctx, flush) {
		again[f.at] = f
	}
	return again
}

// advance takes the first piece off every share, puts back the halves of those refused again, and drops
// empty shares.
func (c *call) advance(shares []*share, again map[int]refusal) []*share {
	left := shares[:0]
	for _, s := range shares {
		var batch []refusal
		for _, f := range s.pieces[0] {
			if g, ok := again[f.at]; ok {
				batch = append(batch, g)
			}
		}
		s.pieces = s.pieces[1:]
		if len(batch) > 0 {
			c.cut(s, batch)
		}
		if len(s.pieces) > 0 {
			left = append(left, s)
		}
	}
	return left
}

// giveUp ends the search early. The broker took none of what is left.
func (c *call) giveUp(shares []*share) {
	for _, s := range shares {
		for _, piece := range s.pieces {
			for _, f := range piece {
				if r := c.records[f.at]; !c.failed[string(r.Key)] {
					c.fail(f.at, outbox.Unavailable(fmt.Errorf("find the refused message in a batch: %w", f.err)))
				}
			}
		}
	}
}

// explain adds to a refusal for size what size it was, and what the topic takes if that is known.
func (c *call) explain(f refusal) error {
	if !errors.Is(f.err, kerr.MessageTooLarge) {
		return f.err
	}
	topic, size := c.records[f.at].Topic, batchOverhead+c.sizes[f.at]
	limit := c.limits.known(topic)
	c.limits.forget(topic)
	if limit == 0 {
		return outbox.Permanent(fmt.Errorf("%d bytes before compression: %w", size, f.err))
	}
	return outbox.Permanent(fmt.Errorf("%d bytes before compression, max.message.bytes is %d: %w", size, limit, f.err))
}
