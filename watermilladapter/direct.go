package watermilladapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// DirectConfig tunes [Direct]. The zero value works.
type DirectConfig struct {
	// PublisherConfig says how Watermill messages are mapped.
	PublisherConfig
	// MaxPayload bounds the payload in bytes, as in [outbox.EnqueueConfig].
	MaxPayload int
	// Logger defaults to slog.Default.
	Logger *slog.Logger
}

// Direct returns a Watermill publisher that sends NOW, through p, outside any transaction: a message goes out even if
// the caller's transaction rolls back, and is lost if the process dies before the call. It is for messages that need
// no outbox, never a fallback for one. It says so in the log when it is made.
//
// All messages of a call go out together, so after a failure in the middle a consumer may see later ones of a key
// before an earlier one. Publish waits for the broker's word on each message and returns the errors of those that it
// did not take, joined. The context of the first message bounds the call; a subscriber ends that of a message that is
// acked, so forward one before its Ack. The caller still closes p; Close does nothing.
func Direct(p outbox.Publisher, config DirectConfig) message.Publisher {
	logger := config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("watermilladapter: this publisher sends directly, without an outbox")
	return &direct{publisher: p, mapping: newMapping(config.PublisherConfig), maxPayload: config.MaxPayload}
}

type direct struct {
	publisher  outbox.Publisher
	mapping    mapping
	maxPayload int
}

func (d *direct) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	prepared, err := d.prepare(topic, messages)
	if err != nil {
		return err
	}
	ctx := messages[0].Context()
	results := d.publisher.Publish(ctx, prepared)
	if len(results) != len(prepared) {
		return fmt.Errorf("publish %d messages to %s: the publisher returned %d results", len(prepared), topic, len(results))
	}
	return joinFailures(ctx, prepared, results)
}

func (*direct) Close() error { return nil }

// prepare checks all messages, each under its own context, before any is sent.
func (d *direct) prepare(topic string, messages []*message.Message) ([]*outbox.Message, error) {
	converted, err := d.mapping.messages(topic, messages)
	if err != nil {
		return nil, err
	}
	prepared := make([]*outbox.Message, 0, len(messages))
	for start := 0; start < len(messages); {
		ctx, n := sharedContext(messages[start:])
		ready, err := d.check(ctx, converted[start:start+n])
		if err != nil {
			return nil, err
		}
		prepared = append(prepared, ready...)
		start += n
	}
	return prepared, nil
}

func (d *direct) check(ctx context.Context, messages []*outbox.Message) ([]*outbox.Message, error) {
	return outbox.Prepare(ctx, outbox.EnqueueConfig{MaxPayload: d.maxPayload}, messages...)
}

var errNotSent = errors.New("watermilladapter: not sent")

func joinFailures(ctx context.Context, messages []*outbox.Message, results []outbox.Result) error {
	notSent := errNotSent
	if ctx.Err() != nil {
		notSent = fmt.Errorf("%w: %w", errNotSent, context.Cause(ctx))
	}
	var failures []error
	for i, r := range results {
		if !r.Accepted() {
			failures = append(failures, fmt.Errorf("publish %s: %w", messages[i].ID, cmp.Or(r.Err(), notSent)))
		}
	}
	return errors.Join(failures...)
}
