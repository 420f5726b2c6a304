package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/outbox"
)

const (
	knownFor     = time.Minute // how long an exchange that was seen counts as present
	missingFor   = time.Second // and one that was not seen as missing
	maxExchanges = 4096        // remembered at most; beyond it everything is forgotten
)

// exchanges looks exchanges up before messages are sent to them. A message to an unknown exchange closes its
// channel, and everything else on the way there loses its confirm, so the question is asked on a connection
// of its own.
type exchanges struct {
	dialer *dialer
	limit  time.Duration

	turn chan struct{} // holds one token while somebody uses link
	link *link

	mu    sync.Mutex
	known map[string]sighting
}

type sighting struct {
	until   time.Time
	missing error
}

func newExchanges(d *dialer) *exchanges {
	return &exchanges{
		dialer: d,
		limit:  d.config.DialTimeout,
		turn:   make(chan struct{}, 1),
		known:  map[string]sighting{},
	}
}

// find returns nil for an exchange that may be published to, an unroutable error for one that does not exist,
// and an unavailable one if the broker did not say.
func (e *exchanges) find(ctx context.Context, name string) error {
	if name == amqp091.DefaultExchange {
		return nil // always there, and may not be asked for
	}
	if s, ok := e.recall(name); ok {
		return s.missing
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return outbox.Unavailable(ctx.Err())
	}
	if s, ok := e.recall(name); ok {
		return s.missing
	}
	return e.look(ctx, name)
}

// look asks the broker. The caller has the turn.
func (e *exchanges) look(ctx context.Context, name string) error {
	if err := e.connect(ctx); err != nil {
		return e.unanswered(name, err) // whatever its code, it is about no exchange
	}
	err := e.ask(ctx, name)
	refusal, refused := errors.AsType[*amqp091.Error](err)
	switch {
	case err == nil, refused && refusal.Server && refusal.Code == amqp091.AccessRefused && e.link.alive():
		// Not being allowed to look says nothing about being allowed to publish.
		e.remember(name, sighting{until: time.Now().Add(knownFor)})
		return nil
	case refused && refusal.Server && refusal.Code == amqp091.NotFound:
		missing := outbox.Unroutable(fmt.Errorf("exchange %q does not exist: declare it: %s", name, told(refusal)))
		e.remember(name, sighting{until: time.Now().Add(missingFor), missing: missing})
		return missing
	}
	return e.unanswered(name, err)
}

// unanswered gives the link up.
func (e *exchanges) unanswered(name string, err error) error {
	if e.link != nil {
		e.link.retire()
	}
	return outbox.Unavailable(fmt.Errorf("look up exchange %q: %w", name, err))
}

// connect makes sure that there is a link with an open channel.
func (e *exchanges) connect(ctx context.Context) error {
	if e.link == nil || !e.link.alive() {
		l, err := e.dialer.dial(ctx, 0)
		if err != nil {
			return err
		}
		e.link = l
	}
	if !e.link.ch.IsClosed() {
		return nil
	}
	// The answer about the last missing exchange has closed it.
	return e.link.within(ctx, e.limit, func() error { return e.link.openChannel(0) })
}

// ask declares the exchange passively: the broker only answers whether it exists.
func (e *exchanges) ask(ctx context.Context, name string) error {
	return e.link.within(ctx, e.limit, func() error {
		return e.link.ch.ExchangeDeclarePassive(name, amqp091.ExchangeTopic, true, false, false, false, nil)
	})
}

func (e *exchanges) recall(name string) (sighting, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.known[name]
	return s, ok && time.Now().Before(s.until)
}

func (e *exchanges) remember(name string, s sighting) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) >= maxExchanges {
		clear(e.known)
	}
	e.known[name] = s
}

// forget makes the next message to name ask again.
func (e *exchanges) forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, name)
}
