package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/outbox"
)

// grace is how long what is open may still be heard of once the call's context has ended.
const grace = time.Second

// A nack says nothing about the message: a queue is full (overflow reject-publish), or a quorum queue has no leader and
// refuses everything for as long. Both pass, so no failure is counted. Another queue may hold a copy.
var errNack = errors.New("broker refused the message (nack): a queue is full, or has no leader at the moment")

// nackPause is when a message that was refused is tried again: soon, because a new leader takes a second or two.
const nackPause = 2 * time.Second

// transmission is one hand-over of parcels on one channel, and the wait for the broker's word on them.
type transmission struct {
	call *call
	link *link

	flight   []*parcel           // handed over, oldest first
	returned map[returned]string // what the broker could not route
	open     []*parcel           // handed over, and left without a word
	unsent   []*parcel           // not handed over
	why      error               // why unsent were not, if not for a closed channel or the end of the context
	reason   *amqp091.Error      // why the channel was closed, if it was
	overdue  bool                // a confirm did not come in time
	nacked   bool                // the broker refused a message
	timer    *time.Timer
}

// returned identifies a returned message: a return carries no delivery tag.
type returned struct {
	id    string
	route route
}

// transmit hands group over on the call's link. When it returns, each parcel is settled, open or unsent, and
// a link whose delivery tags cannot be trusted any more is retired.
func (c *call) transmit(group []*parcel) *transmission {
	t := &transmission{call: c, link: c.link, returned: map[returned]string{}, timer: time.NewTimer(time.Hour)}
	defer t.timer.Stop()
	defer c.link.guard(c.ctx)()
	t.run(group)
	switch {
	case t.overdue:
		c.link.retire()
	case c.link.ch.IsClosed():
		t.reason = c.link.closeReason(c.p.config.WriteTimeout)
	case t.nacked:
		c.link.closeChannel(c.ctx, c.p.config.DialTimeout)
	}
	return t
}

// guard cuts the link when ctx has ended and the grace has passed before the function that it returns is
// called.
func (l *link) guard(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			l.retired.Store(true)
			l.wire.kill()
		}
	})
	return func() { stop(); close(done) }
}

func (t *transmission) run(group []*parcel) {
	t.link.wire.hold()
	for i, p := range group {
		if window := t.call.p.gate.window(t.call.p.config.Window); len(t.flight) >= window {
			t.link.wire.flush()
			t.collect(window / 2)
			t.link.wire.hold()
		}
		if !t.handOver(p) {
			t.unsent = group[i:]
			break
		}
	}
	t.link.wire.flush()
	t.collect(0)
}

// handOver gives p to the client library. It returns false if p and whatever follows must not or cannot go out.
func (t *transmission) handOver(p *parcel) bool {
	if t.call.holds(p) {
		return true
	}
	if t.call.ctx.Err() != nil || t.overdue || !t.link.usable() {
		return false
	}
	if t.why = t.call.p.gate.err(); t.why != nil {
		return false
	}
	if err := p.checkFrame(t.link.conn.Config.FrameSize); err != nil {
		t.call.fail(p, outbox.Permanent(err))
		return true
	}
	confirm, err := t.link.ch.PublishWithDeferredConfirm(p.route.exchange, p.route.key, true, false, p.publishing)
	switch {
	case err == nil:
		p.confirm, p.handed = confirm, time.Now()
		t.flight = append(t.flight, p)
	case errors.Is(err, amqp091.ErrClosed):
		return false // at most a part of it was written
	default:
		t.open = append(t.open, p) // the write failed, nobody knows how far it came
	}
	return true
}

// collect waits for the oldest parcels until no more than limit are in flight.
func (t *transmission) collect(limit int) {
	for len(t.flight) > limit {
		p := t.flight[0]
		t.flight = t.flight[1:]
		if t.await(p) {
			t.hear(p)
			continue
		}
		t.overdue = true
		t.open = append(t.open, p)
	}
}

// await reports whether p's confirm came. After one that did not, it only looks: the limit has been spent.
func (t *transmission) await(p *parcel) bool {
	select {
	case <-p.confirm.Done():
		return true
	default:
	}
	if t.overdue {
		return false
	}
	t.timer.Reset(time.Until(p.handed.Add(t.call.p.config.ConfirmTimeout)))
	select {
	case <-p.confirm.Done():
		return true
	case <-t.timer.C:
		return false
	}
}

// hear settles p by its confirm. The client library answers "not acked" for everything in flight when a
// channel closes; it marks the channel closed before that, so only on an open one is it the broker's refusal.
//
// The broker returns an unroutable message before it confirms it, and the library reads both in one
// goroutine: once the confirm is here, so is the return. Confirms of different messages come in any order, so
// none says anything about others.
func (t *transmission) hear(p *parcel) {
	acked := p.confirm.Acked()
	if !acked && t.link.ch.IsClosed() {
		t.open = append(t.open, p)
		return
	}
	t.call.p.gate.confirmed()
	t.drainReturns()
	text, unroutable := t.returned[returned{p.publishing.MessageId, p.route}]
	switch {
	case unroutable:
		t.call.fail(p, outbox.Unroutable(errors.New(text)))
	case acked:
		t.call.accept(p)
	default:
		t.nacked = true
		t.call.fail(p, outbox.RetryAfter(nackPause, errNack))
	}
}

// drainReturns empties the listener, also one that was closed with its channel.
func (t *transmission) drainReturns() {
	for {
		select {
		case r, ok := <-t.link.returns:
			if !ok {
				return
			}
			t.returned[returned{r.MessageId, route{r.Exchange, r.RoutingKey}}] = fmt.Sprintf(
				"broker returned the message: %d %s (exchange %q, routing key %q): bind a queue",
				r.ReplyCode, r.ReplyText, r.Exchange, r.RoutingKey)
		default:
			return
		}
	}
}

// refusal returns why the broker closed the channel over one of the open parcels, or nil if it did not.
func (t *transmission) refusal() *amqp091.Error {
	if len(t.open) > 0 && t.link.alive() && isAboutMessage(t.reason) {
		return t.reason
	}
	return nil
}

// cause says in words why parcels are open or unsent.
func (t *transmission) cause() error {
	switch {
	case t.overdue:
		return fmt.Errorf("no confirm from the broker within %v", t.call.p.config.ConfirmTimeout)
	case t.why != nil:
		return t.why
	case t.call.ctx.Err() != nil:
		return fmt.Errorf("wait for confirms: %w", context.Cause(t.call.ctx))
	}
	return lost(t.reason)
}
