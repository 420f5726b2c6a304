package amqp

import (
	"context"
	"time"

	"github.com/postroom/postroom/outbox"
)

// call is one Publish: its results, and the one link that it uses at a time.
type call struct {
	p       *Publisher
	ctx     context.Context
	results []outbox.Result
	link    *link
	down    error            // why the transport is of no more use to this call
	refused map[route]error  // routes that the broker has refused in this call; a route without key is a whole exchange
	held    map[orderKey]int // by key, the first message that was not accepted; nil unless order in a call is promised
}

func (p *Publisher) newCall(ctx context.Context, messages int) *call {
	c := &call{p: p, ctx: ctx, results: make([]outbox.Result, messages), refused: map[route]error{}}
	if p.config.TrustQueues {
		c.held = map[orderKey]int{}
	}
	return c
}

// encode returns the parcels that can be sent; the others have their result.
func (c *call) encode(messages []*outbox.Message) []*parcel {
	encoder := encoder{events: c.p.config.CloudEvents, now: time.Now()}
	parcels := make([]*parcel, 0, len(messages))
	for i, m := range messages {
		var to route
		to.exchange, to.key = c.p.config.Route(m)
		p, err := encoder.encode(i, m, to)
		if err != nil {
			c.fail(p, outbox.Permanent(err))
			continue
		}
		parcels = append(parcels, p)
	}
	return parcels
}

// locate returns the parcels whose exchange exists; the others have their result. Once the broker gave no
// answer, it is not asked about further exchanges.
func (c *call) locate(parcels []*parcel) []*parcel {
	found := map[string]error{}
	there := parcels[:0]
	for _, p := range parcels {
		err, asked := found[p.route.exchange]
		if !asked {
			err = c.find(p.route.exchange)
			found[p.route.exchange] = err
		}
		switch {
		case err == nil:
			there = append(there, p)
		case c.ctx.Err() == nil:
			c.fail(p, err)
		}
	}
	return there
}

func (c *call) find(exchange string) error {
	if err := c.unusable(); err != nil {
		return outbox.Unavailable(err)
	}
	err := c.p.exchanges.find(c.ctx, exchange)
	if outbox.ClassOf(err) == outbox.ClassUnavailable {
		c.down = err
	}
	return err
}

// unusable returns why nothing can be sent in this call, or nil.
func (c *call) unusable() error {
	if c.down != nil {
		return c.down
	}
	return c.p.gate.err()
}

// waves cuts parcels into groups that go out one after the other. Without TrustQueues there is one. With it,
// a message whose key changes its route waits until those before it are confirmed: the one route may be
// unbound and the other not.
func (c *call) waves(parcels []*parcel) [][]*parcel {
	if c.held == nil {
		return [][]*parcel{parcels}
	}
	type place struct {
		wave  int
		route route
	}
	last := map[orderKey]place{}
	var waves [][]*parcel
	for _, p := range parcels {
		at, seen := last[p.order]
		if seen && p.ordered() && at.route != p.route {
			at.wave++
		}
		at.route = p.route
		if p.ordered() {
			last[p.order] = at
		}
		for len(waves) <= at.wave {
			waves = append(waves, nil)
		}
		waves[at.wave] = append(waves[at.wave], p)
	}
	return waves
}

func (p *parcel) ordered() bool { return p.order != orderKey{} }

// send hands group over and waits for the broker's word on each, over as many channels as it takes.
func (c *call) send(group []*parcel) {
	group = c.wanted(group)
	if len(group) == 0 {
		return
	}
	if c.ctx.Err() != nil {
		c.untouched(group, context.Cause(c.ctx))
		return
	}
	if err := c.channel(); err != nil {
		c.untouched(group, err)
		return
	}
	t := c.transmit(group)
	switch reason := t.refusal(); {
	case len(t.open) == 0 && len(t.unsent) == 0:
	case reason != nil:
		c.isolate(t.open, reason)
		c.send(t.unsent)
	default:
		c.giveUp(t)
	}
}

// giveUp settles what a transmission left: a copy of what is open may be in the broker.
func (c *call) giveUp(t *transmission) {
	cause := t.cause()
	if !c.link.usable() {
		c.down = cause
	}
	c.failAll(t.open, outbox.Unknown(cause))
	c.untouched(t.unsent, cause)
}

// untouched settles parcels that were not handed over, or not again. Once the call's context has ended the former is
// nobody's fault.
func (c *call) untouched(parcels []*parcel, cause error) {
	for _, p := range parcels {
		switch {
		case p.copied:
			c.fail(p, outbox.Unknown(cause))
		case c.ctx.Err() == nil:
			c.fail(p, outbox.Unavailable(cause))
		}
	}
}

// channel makes sure that link has an open channel.
func (c *call) channel() error {
	if err := c.unusable(); err != nil {
		return err
	}
	err := c.connect()
	if err != nil && c.ctx.Err() == nil {
		c.down = err
	}
	return err
}

func (c *call) connect() error {
	if c.link == nil || !c.link.alive() {
		c.giveBack()
		l, err := c.p.borrow(c.ctx)
		if err != nil {
			return err
		}
		c.link = l
	}
	if c.link.ch.IsClosed() {
		return c.link.within(c.ctx, c.p.config.DialTimeout, func() error { return c.link.openChannel(c.p.config.Window) })
	}
	return nil
}

// giveBack ends the use of the link.
func (c *call) giveBack() {
	if c.link != nil {
		c.p.giveBack(c.link)
		c.link = nil
	}
}

// wanted returns the parcels of group that may still go out. Those of a route that was refused in this call
// share the refusal; those behind a message of their key that was not accepted stay without a word.
func (c *call) wanted(group []*parcel) []*parcel {
	wanted := make([]*parcel, 0, len(group))
	for _, p := range group {
		if c.holds(p) {
			continue
		}
		if err := c.refusedRoute(p.route); err != nil {
			c.fail(p, err)
			continue
		}
		wanted = append(wanted, p)
	}
	return wanted
}

func (c *call) refusedRoute(r route) error {
	if err := c.refused[route{exchange: r.exchange}]; err != nil {
		return err
	}
	return c.refused[r]
}

// holds reports whether p comes behind a message of its key that was not accepted.
func (c *call) holds(p *parcel) bool {
	first, held := c.held[p.order]
	return held && p.index > first
}

func (c *call) accept(p *parcel) { c.results[p.index] = outbox.Accepted }

func (c *call) fail(p *parcel, err error) {
	c.results[p.index] = outbox.Failed(err)
	if c.held == nil || !p.ordered() {
		return
	}
	if first, held := c.held[p.order]; !held || p.index < first {
		c.held[p.order] = p.index
	}
}

func (c *call) failAll(parcels []*parcel, err error) {
	for _, p := range parcels {
		c.fail(p, err)
	}
}
