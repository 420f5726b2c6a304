package amqp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/postroom/postroom/outbox"
)

// closeTimeout bounds the broker's part in the end of a connection.
const closeTimeout = time.Second

// errClosed is what messages get that come after Close.
var errClosed = errors.New("publisher is closed")

// Publisher sends messages to RabbitMQ. It is safe for concurrent use: each call of Publish that runs at the
// same time has a connection of its own, which stays open for the next one; one more looks up exchanges.
type Publisher struct {
	config    Config
	gate      *gate
	dialer    *dialer
	exchanges *exchanges
	forbidden forbidden

	closing context.Context // ends with Close
	close   context.CancelFunc
	calls   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	idle   []*link // the most recently used one last
}

var (
	_ outbox.Publisher  = (*Publisher)(nil)
	_ outbox.KeyOrderer = (*Publisher)(nil)
)

// Open returns a Publisher, or what is wrong with config. It does not connect: a broker that is away is the
// trouble of Publish, which answers [outbox.Unavailable] until it is back.
func Open(config Config) (*Publisher, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	p := &Publisher{config: config, gate: newGate()}
	p.dialer = &dialer{config: config, gate: p.gate, links: map[*link]struct{}{}}
	p.exchanges = newExchanges(p.dialer)
	p.closing, p.close = context.WithCancel(context.Background())
	return p, nil
}

// KeyOrdered reports Config.TrustQueues.
func (p *Publisher) KeyOrdered() bool { return p.config.TrustQueues }

// Publish sends messages, persistent and mandatory, and waits for the broker's word on each, as the package
// documentation tells. It takes at most about DialTimeout for each URL, and ConfirmTimeout for each window of
// messages. When ctx ends it waits one more second for what is open.
func (p *Publisher) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := p.newCall(ctx, len(messages))
	if !p.begin() {
		c.down = errClosed
	} else {
		defer p.calls.Done()
		defer context.AfterFunc(p.closing, func() { cancel(errClosed) })()
	}
	defer c.giveBack()
	for _, wave := range c.waves(c.locate(c.encode(messages))) {
		c.try(wave)
	}
	return c.results
}

// begin reports whether a call may start, and counts it.
func (p *Publisher) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.calls.Add(1)
	}
	return !p.closed
}

// borrow returns a link that nobody else uses: an idle one, or a new one. The channel of an idle one may be
// closed.
func (p *Publisher) borrow(ctx context.Context) (*link, error) {
	for l := p.takeIdle(); l != nil; l = p.takeIdle() {
		if l.alive() {
			return l, nil
		}
		l.retire()
	}
	return p.dialer.dial(ctx, p.config.Window)
}

func (p *Publisher) takeIdle() *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	l := p.idle[last]
	p.idle = p.idle[:last]
	return l
}

// giveBack makes l available to the next call, if it is of any use.
func (p *Publisher) giveBack(l *link) {
	if !l.alive() {
		l.retire()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, l)
}

// Close ends the publisher. Calls that are running hand over nothing more and have a second to hear of what
// is open; later ones get [outbox.Unavailable]. It returns within about 3 s, also while the broker blocks or
// does not answer. An error means that a call had not returned by then; all connections are cut all the same.
func (p *Publisher) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if !first {
		return nil
	}
	p.close()
	ended := make(chan struct{})
	go func() { p.calls.Wait(); close(ended) }()
	inTime := waitFor(ended, grace+closeTimeout)
	p.dialer.closeAll(closeTimeout)
	if !inTime {
		return errors.New("close publisher: a call is still running")
	}
	return nil
}

// waitFor reports whether done was closed within limit.
func waitFor(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
