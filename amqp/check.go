package amqp

import (
	"context"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/outbox"
)

// Check looks at what messages to exchanges will meet, so that a program can tell at its start. It declares and
// changes nothing, and publishing needs no Check.
//
// The error names every exchange that does not exist, or says that the broker did not answer. The warnings are about
// messages that would be lost in silence: an alternate exchange takes what no queue is bound for, a queue drops its
// oldest messages when it is full, a queue does not survive its broker. AMQP does not show that, so without
// [Config.Management] there is one warning, which says so. Messages that follow a binding added later, or that a dead
// letter exchange moves on, are not looked at. Without exchanges it only connects. It takes at most DialTimeout for
// each exchange and URL, and once more, and 30 s.
func (p *Publisher) Check(ctx context.Context, exchanges ...string) (warnings []string, err error) {
	if !p.begin() {
		return nil, outbox.Unavailable(errClosed)
	}
	defer p.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.closing, func() { cancel(errClosed) })()
	if err := p.reach(ctx); err != nil {
		return nil, fmt.Errorf("check exchanges: %w", err)
	}
	var missing []error
	var there []string
	for _, name := range exchanges {
		err := p.exchanges.find(ctx, name)
		switch {
		case err == nil:
			there = append(there, name)
		case outbox.ClassOf(err) == outbox.ClassUnavailable:
			return nil, fmt.Errorf("check exchanges: %w", err)
		default:
			missing = append(missing, err)
		}
	}
	warnings, err = p.inspect(ctx, there)
	return warnings, errors.Join(append(missing, err)...)
}

// reach connects, so that a broker that is away shows even where there is no exchange to ask it for.
func (p *Publisher) reach(ctx context.Context) error {
	l, err := p.borrow(ctx)
	if err != nil {
		return outbox.Unavailable(err)
	}
	p.giveBack(l)
	return nil
}

func (p *Publisher) inspect(ctx context.Context, exchanges []string) (warnings []string, err error) {
	if p.config.Management == "" {
		return []string{"alternate exchanges and queues that drop messages cannot be seen without the management API: set " +
			"Config.Management, which a relay's file calls amqp.management"}, nil
	}
	uri, err := amqp091.ParseURI(p.config.URLs[0])
	if err != nil {
		return nil, errors.New("parse URL: not an AMQP URL")
	}
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	m := newManagement(p.config.Management, uri.Vhost, p.config.TLS)
	defer m.client.CloseIdleConnections()
	for _, name := range exchanges {
		if name == amqp091.DefaultExchange {
			continue // it has no settings, and every queue is bound to it
		}
		found, err := p.inspectExchange(ctx, m, name)
		if err != nil {
			return nil, fmt.Errorf("inspect exchange %q: %w", name, err)
		}
		warnings = append(warnings, found...)
	}
	return warnings, nil
}

func (p *Publisher) inspectExchange(ctx context.Context, m management, name string) (warnings []string, err error) {
	exchange, err := m.exchange(ctx, name)
	if err != nil {
		return nil, err
	}
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if exchange.alternate != "" {
		warn("exchange %q has the alternate exchange %q: messages that no queue is bound for count as delivered",
			name, exchange.alternate)
	}
	if !exchange.Durable {
		warn("exchange %q is not durable: declare it so that it survives the broker", name)
	}
	queues, err := m.queuesBehind(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(queues) == 0 {
		warn("exchange %q has no queue bound to it: its messages are unroutable", name)
	}
	for _, q := range queues {
		if !q.Durable {
			warn("queue %q is not durable: what it confirmed ends with its broker", q.Name)
		}
		if q.dropsHead() {
			warn("queue %q drops its oldest messages when it is full, in silence: set overflow to reject-publish", q.Name)
		}
		if p.config.TrustQueues && q.rejects() {
			warn("queue %q refuses messages when it is full, and then TrustQueues breaks the order: do not set it", q.Name)
		}
	}
	return warnings, nil
}
