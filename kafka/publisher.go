package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

const (
	// grace is how long open sends may still be answered once a call is to end: an answer spares a second copy.
	grace = time.Second
	// closeTimeout bounds Close: the grace of open calls, their breaking off, and the clients' own goodbye.
	closeTimeout = grace + breakOffTime + 2*time.Second
)

var errTimeout = errors.New("no broker could be reached in time")

// Publisher publishes to Kafka. Its methods may be called at the same time.
type Publisher struct {
	pool    *pool
	limits  *limits
	events  cloudevents.Config
	timeout time.Duration
}

var (
	_ outbox.Publisher  = (*Publisher)(nil)
	_ outbox.KeyOrderer = (*Publisher)(nil)
)

// Open checks config and returns a publisher. It connects to no broker: one that is away shows in the Results of
// Publish. The error of a field is an [*outbox.FieldError]. Close the publisher when its relay has ended.
func Open(config Config) (*Publisher, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	pool := newPool(config.options())
	first, err := pool.borrow()
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	defer pool.giveBack(first)
	if err := checkClient(first.kafka); err != nil {
		first.spent = true
		return nil, err
	}
	return &Publisher{
		pool:    pool,
		limits:  newLimits(config.MaxMessageBytes, config.DeliveryTimeout/8),
		events:  config.CloudEvents,
		timeout: config.DeliveryTimeout,
	}, nil
}

// KeyOrdered is true: in one call, the accepted messages of a key are a prefix of those given.
func (p *Publisher) KeyOrdered() bool { return true }

// Publish hands messages over and returns one Result for each, in the order given. It returns at most 4 s
// after ctx has ended or Config.DeliveryTimeout has passed. Messages behind a failed one of their key, and
// those that were still to be sent when a broker did not answer or time ran short, have the zero Result.
func (p *Publisher) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	client, err := p.pool.borrow()
	if err != nil {
		return refuseAll(messages, err)
	}
	c := newCall(client, p.limits, p.events, messages)
	defer func() { p.pool.giveBack(c.client) }()

	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, errTimeout)
	defer cancel()
	defer context.AfterFunc(p.pool.closing, cancel)()
	late, cancelLate := extend(ctx, grace)
	defer cancelLate()

	c.borrow, c.giveBack = p.pool.borrow, p.pool.giveBack
	c.late, c.lastStart = late, time.Now().Add(p.timeout/2)
	c.run(ctx)
	return c.results
}

// Close ends the publisher: calls that are open hand over nothing more and end as if their context had. It
// waits for them, at most 5 s, and returns an error if some have not ended by then. It may be called again.
func (p *Publisher) Close() error {
	timeout := time.NewTimer(closeTimeout)
	defer timeout.Stop()
	select {
	case <-p.pool.close():
		return nil
	case <-timeout.C:
		return errors.New("kafka: close the publisher: clients are still ending")
	}
}

func refuseAll(messages []*outbox.Message, err error) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	for i := range results {
		results[i] = outbox.Failed(outbox.Unavailable(err))
	}
	return results
}

// extend returns a context that ends d after ctx does.
func extend(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-late.Done():
		}
	})
	return late, func() { stop(); cancel() }
}
