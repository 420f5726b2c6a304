package amqp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// link is one connection with one channel, used by one call at a time.
type link struct {
	wire *wire
	conn *amqp091.Connection
	gate *gate
	log  *slog.Logger

	ch      *amqp091.Channel
	returns chan amqp091.Return // what came back on ch; closed with it
	closed  chan *amqp091.Error // why ch was closed; closed with it

	retired atomic.Bool
	gone    chan struct{} // closed when the connection has ended
}

// watch follows the life of the connection: blocks of the broker, and its end. The client library's reader
// waits up to 5 s for a listener that is full, so there is always someone to listen, also while the link is
// idle.
func (l *link) watch(blocked <-chan amqp091.Blocking, closed <-chan *amqp091.Error) {
	defer close(l.gone)
	defer l.gate.lose(l)
	for b := range blocked {
		if b.Active {
			l.log.Warn("broker blocks the connection", slog.String("reason", b.Reason))
			l.gate.block(l, b.Reason)
			continue
		}
		l.log.Info("broker unblocked the connection")
		l.gate.unblock(l)
		if l.retired.Load() {
			l.wire.kill()
		}
	}
	if err := <-closed; err != nil && !l.wire.dead() {
		l.log.Warn("broker connection lost", slog.Any("error", lost(err)))
	}
}

// lost describes the end of a channel or a connection. The client library dresses up a failed read as a 501
// of the protocol, which only a code from the broker is.
func lost(reason *amqp091.Error) error {
	switch {
	case reason == nil:
		return errors.New("broker connection lost")
	case reason.Server:
		return fmt.Errorf("broker closed the connection: %s", told(reason))
	}
	return fmt.Errorf("broker connection lost: %s", reason.Reason)
}

// told returns the broker's own words.
func told(reason *amqp091.Error) string { return fmt.Sprintf("%d %s", reason.Code, reason.Reason) }

// within runs f, which waits for the broker, and cuts the connection if ctx ends or limit passes first. The
// client library cannot be interrupted in another way.
func (l *link) within(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, l.wire.kill)
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// openChannel opens a channel in place of the one that was closed. Listeners are registered before the first
// publish; returned messages are never more than the window, so the library never waits for room.
func (l *link) openChannel(window int) error {
	ch, err := l.conn.Channel()
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	l.ch = ch
	l.closed = ch.NotifyClose(make(chan *amqp091.Error, 1))
	l.returns = ch.NotifyReturn(make(chan amqp091.Return, window))
	if window == 0 {
		return nil
	}
	if err := ch.Confirm(false); err != nil {
		return fmt.Errorf("switch confirms on: %w", err)
	}
	return nil
}

// closeChannel ends a channel on which the broker refused a message. RabbitMQ 3.10 keeps in each channel where a quorum
// queue's leader was when the channel first published to it; if that was a node that had just died, the channel refuses
// everything until it ends, also long after another node leads.
func (l *link) closeChannel(ctx context.Context, limit time.Duration) {
	_ = l.within(ctx, limit, l.ch.Close) // one that cannot be closed is cut with its connection
}

// alive reports whether the connection may carry another channel.
func (l *link) alive() bool {
	return !l.retired.Load() && !l.wire.dead() && !l.conn.IsClosed()
}

// usable reports whether the link can publish.
func (l *link) usable() bool { return l.alive() && !l.ch.IsClosed() }

// closeReason returns why the channel was closed, nil if nobody said. It waits for the library, which closes
// the channel first and tells why a moment later, at most limit.
func (l *link) closeReason(limit time.Duration) *amqp091.Error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case reason := <-l.closed:
		return reason
	case <-timer.C:
		l.retire()
		return nil
	}
}

// retire gives the link up. A connection that the broker blocks stays open, unused, to hear of the end of the
// block.
func (l *link) retire() {
	l.retired.Store(true)
	if !l.gate.holds(l) {
		l.wire.kill()
	}
}

// close takes leave of the broker and waits for the end of the connection, at most about limit.
func (l *link) close(limit time.Duration) {
	l.retired.Store(true)
	cut := time.AfterFunc(limit, l.wire.kill)
	defer cut.Stop()
	_ = l.conn.Close()
	l.wire.kill()
	waitFor(l.gone, limit)
}
