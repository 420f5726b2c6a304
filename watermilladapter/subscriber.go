package watermilladapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// SubscriberConfig tunes a [Subscriber]. The zero value works.
type SubscriberConfig struct {
	// KeyMetadata is the metadata name under which the message's Key travels. Defaults to partition_key.
	KeyMetadata string
	// Concurrency bounds the keys that one worker of the relay delivers side by side. Defaults to 16.
	Concurrency int
	// Timeout bounds the wait for a handler, from when the message is offered to when it is acknowledged. When it is over
	// the message's context ends; its key waits until the handler answers all the same. Defaults to 30 s.
	Timeout time.Duration
}

var (
	errNacked       = errors.New("watermilladapter: the handler refused the message")
	errNoSubscriber = errors.New("watermilladapter: nobody subscribes to this topic")
	errNotTaken     = errors.New("watermilladapter: no handler took the message in time")
	errUnanswered   = errors.New("watermilladapter: the handler did not answer in time")
	errAbandoned    = errors.New("watermilladapter: the handler did not answer before the end")
	errClosed       = errors.New("watermilladapter: the subscriber is closed")
	errOverrun      = errors.New("watermilladapter: earlier messages are still with their handlers")
)

// noSubscriber is the least wait before a message whose topic nobody reads is offered again.
const noSubscriber = time.Second

// Subscriber delivers what is in the outbox to handlers in the same process, without a broker: give it to
// [outbox.NewRelay] as the publisher and to a Watermill router as the subscriber.
//
// A message is accepted once every subscription of its topic has acknowledged it. A nack is a refusal: the relay offers
// a new copy after its backoff, to all subscriptions of the topic, and parks the message after the policy's last
// attempt; later messages of the key wait. Keys are delivered side by side and a key one message at a time. A topic
// without a subscription, and a handler that takes or answers nothing in time, count no failure. While as many handlers
// as Concurrency are late with their answer, nothing else is delivered.
//
// Delivery is at least once: handlers that share a topic see a message again when one of the others refuses it.
type Subscriber struct {
	config SubscriberConfig

	mu            sync.Mutex
	closed        bool
	subscriptions map[string][]*subscription // by topic, never changed in place
	open          map[delivery]*message.Message
}

// delivery is one message of a subscription whose handler has not answered in time. When the relay comes back with the
// message, the wait goes on; a second copy beside the first would break the order of the key.
type delivery struct {
	to *subscription
	id uuid.UUID
}

var (
	_ outbox.Publisher   = (*Subscriber)(nil)
	_ outbox.KeyOrderer  = (*Subscriber)(nil)
	_ message.Subscriber = (*Subscriber)(nil)
)

// NewSubscriber returns a Subscriber without subscriptions.
func NewSubscriber(config SubscriberConfig) *Subscriber {
	config.KeyMetadata = cmp.Or(config.KeyMetadata, defaultKeyMetadata)
	config.Concurrency = cmp.Or(config.Concurrency, 16)
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	return &Subscriber{
		config:        config,
		subscriptions: make(map[string][]*subscription),
		open:          make(map[delivery]*message.Message),
	}
}

// Subscribe returns the messages of topic, until ctx ends or the Subscriber is closed. Each must be acknowledged.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	sub := newSubscription()
	s.subscriptions[topic] = append(slices.Clip(s.subscriptions[topic]), sub)
	context.AfterFunc(ctx, func() {
		sub.close() // first: who then keeps a message open can see it
		s.remove(topic, sub)
	})
	return sub.messages, nil
}

func (s *Subscriber) remove(topic string, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(s.subscriptions[topic]), func(o *subscription) bool { return o == sub })
	if len(left) > 0 {
		s.subscriptions[topic] = left
	} else {
		delete(s.subscriptions, topic)
	}
	maps.DeleteFunc(s.open, func(d delivery, _ *message.Message) bool { return d.to == sub })
}

// Close ends all subscriptions. Messages that handlers are at get a second more for their answer. It may be called
// again.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	subscriptions := s.subscriptions
	s.closed, s.subscriptions = true, nil
	clear(s.open)
	s.mu.Unlock()
	for _, topic := range subscriptions {
		for _, sub := range topic {
			sub.close()
		}
	}
	return nil
}

// KeyOrdered is true: a key stops at its first message that is not acknowledged.
func (*Subscriber) KeyOrdered() bool { return true }

// Publish offers messages to the subscriptions of their topics and waits for their answers.
func (s *Subscriber) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	return outbox.PublishOneByOne(ctx, messages, s.config.Concurrency, s.send)
}

// send returns nil once every subscription has acknowledged m. It goes from one to the next, and stops at the first
// that does not.
func (s *Subscriber) send(ctx context.Context, m *outbox.Message) error {
	subscriptions, err := s.of(m.Topic)
	if err != nil {
		return err
	}
	for _, sub := range subscriptions {
		if err := s.deliver(ctx, sub, m); err != nil {
			return err
		}
	}
	return nil
}

// of returns the subscriptions of a topic, at least one.
func (s *Subscriber) of(topic string) ([]*subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch subscriptions := s.subscriptions[topic]; {
	case s.closed:
		return nil, outbox.Unavailable(errClosed)
	case len(subscriptions) == 0:
		return nil, outbox.RetryAfter(noSubscriber, fmt.Errorf("topic %s: %w", topic, errNoSubscriber))
	default:
		return subscriptions, nil
	}
}

// message copies the payload, because handlers may keep and change what they are given.
func (s *Subscriber) message(ctx context.Context, m *outbox.Message) *message.Message {
	w := message.NewMessageWithContext(ctx, m.ID.String(), slices.Clone(m.Payload))
	w.Metadata = metadata(m, s.config.KeyMetadata)
	return w
}
