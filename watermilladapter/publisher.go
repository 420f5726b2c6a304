package watermilladapter

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// PublisherConfig says how Watermill messages become messages of the outbox. The zero value works.
type PublisherConfig struct {
	// KeyMetadata is the metadata name whose value is the message's Key. Defaults to partition_key.
	KeyMetadata string
	// Type returns the Type of a message that has neither metadata name nor type. Defaults to its topic.
	Type func(topic string, m *message.Message) string
	// ContentType is that of messages without metadata content-type. Defaults to application/octet-stream.
	ContentType string
	// Transport is that of all messages, see [outbox.Mux]. Defaults to the relay's only one.
	Transport string
}

// NewPublisher returns a Watermill publisher that stores messages so that they are published if, and only if, the
// transaction in each message's own context commits. Messages of one call that share their context are stored by one
// Enqueue, all or none.
//
// Publish returns [outbox.ErrNoTransaction] when a message's context carries no transaction of to, and an
// [*outbox.FieldError] when a message cannot be stored; its UUID must be a valid UUID other than the nil one.
// Where the context gives ids, as that of a request with an idempotency key does, they become the UUIDs, so that a
// request that runs again makes no second event. Close does nothing.
func NewPublisher(to outbox.Enqueuer, config PublisherConfig) message.Publisher {
	return &publisher{to: to, mapping: newMapping(config)}
}

type publisher struct {
	to      outbox.Enqueuer
	mapping mapping
}

func (p *publisher) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		giveID(m)
	}
	converted, err := p.mapping.messages(topic, messages)
	if err != nil {
		return err
	}
	for start := 0; start < len(messages); {
		ctx, n := sharedContext(messages[start:])
		if err := p.to.Enqueue(ctx, converted[start:start+n]...); err != nil {
			return fmt.Errorf("enqueue %d messages for %s: %w", n, topic, err)
		}
		start += n
	}
	return nil
}

func (*publisher) Close() error { return nil }

// giveID lets ids that the context gives win over those that a marshaler draws anew for every try of a request.
func giveID(m *message.Message) {
	if m == nil {
		return
	}
	if id, ok := outbox.NextID(m.Context()); ok {
		m.UUID = id.String()
	}
}

// sharedContext returns the context of the first message and how many messages from there on have the same one.
func sharedContext(messages []*message.Message) (context.Context, int) {
	ctx, n := messages[0].Context(), 1
	for n < len(messages) && same(ctx, messages[n].Context()) {
		n++
	}
	return ctx, n
}

// same compares two contexts; those of a type that cannot be compared are different.
func same(a, b context.Context) bool {
	return reflect.ValueOf(a).Comparable() && a == b
}
