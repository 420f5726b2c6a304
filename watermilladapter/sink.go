package watermilladapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// SinkConfig tunes a [Sink]. The zero value works.
type SinkConfig struct {
	// KeyMetadata is the metadata name under which the message's Key travels. Let a partitioning marshaler read it, so
	// that the broker keeps the order of a key too. Defaults to partition_key.
	KeyMetadata string
	// Concurrency bounds the calls of one Publish that run side by side. Defaults to 16.
	Concurrency int
	// Timeout bounds the wait for one call of the Watermill publisher. Defaults to 30 s.
	Timeout time.Duration
	// Classify marks an error of the Watermill publisher with a class of package outbox, such as [outbox.Permanent] for a
	// message that is too large; an error that it leaves unmarked is a refusal, retried with backoff until it is parked.
	// Defaults to [outbox.Unknown] for every error that carries no class: retried for ever, because the broker may hold
	// a copy and an outage must park nothing.
	Classify func(err error) error
}

var (
	errGaveUp  = errors.New("watermilladapter: the publisher did not return in time")
	errStopped = errors.New("watermilladapter: the publisher did not return before the relay stopped")
	errStuck   = errors.New("watermilladapter: earlier calls of the publisher have not returned")
)

// patience is what open calls get once the context has ended.
const patience = time.Second

// Sink returns an outbox publisher that sends each message by one call of p, so that a nil error of p is the broker's
// word for exactly that message: p must return only once the broker has it (Kafka: acks=all; AMQP: ConfirmDelivery,
// whose publisher still reports success for a message that no queue took).
//
// Some promises of [outbox.Publisher] are beyond Watermill's publishers. Of the cases of package publishertest, one
// over watermill-kafka v3 passes them all, and one over watermill-amqp v3 all but three, by no configuration:
//
//   - fails_a_missing_destination_alone_and_not_for_good: it declares the exchange that is missing, and a message that
//     no queue takes counts as delivered;
//   - refuses_a_poison_message_alone: what AMQP cannot encode, such as a header name of 300 bytes, breaks the
//     connection, and with it the messages of other keys that are on their way;
//   - stops_a_key_at_its_first_failure_if_it_says_so: those may be in the broker although they are reported as failed.
//     A relay sends them again, under the same id.
//
// Leave the idempotent producer of sarama off, which watermill-kafka uses: with calls side by side it fails messages as
// out of sequence (1.43). Packages kafka and amqp have none of these faults, and are much faster.
//
// Keys are sent side by side and a key in order; a key stops at its first failure, and its later messages were never
// handed over. The caller still closes p.
func Sink(p message.Publisher, config SinkConfig) outbox.Publisher {
	config.KeyMetadata = cmp.Or(config.KeyMetadata, defaultKeyMetadata)
	config.Concurrency = cmp.Or(config.Concurrency, 16)
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	if config.Classify == nil {
		config.Classify = unknownUnlessClassified
	}
	return &sink{publisher: p, config: config}
}

type sink struct {
	publisher message.Publisher
	config    SinkConfig
	givenUp   atomic.Int64 // calls that nobody waits for any more and that have not returned
}

func (*sink) KeyOrdered() bool { return true }

func (s *sink) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	return outbox.PublishOneByOne(ctx, messages, s.config.Concurrency, s.send)
}

func (s *sink) send(ctx context.Context, m *outbox.Message) error {
	if s.givenUp.Load() >= int64(s.config.Concurrency) {
		return outbox.Unavailable(errStuck)
	}
	c := s.call(ctx, m)
	returned, err := s.wait(ctx, c)
	if !returned {
		s.giveUp(c)
	}
	return err
}

// call is one call of the Watermill publisher; err counts once done is closed.
type call struct {
	done chan struct{}
	err  error
}

func (s *sink) call(ctx context.Context, m *outbox.Message) *call {
	c := &call{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = s.publisher.Publish(m.Topic, s.message(ctx, m))
	}()
	return c
}

// wait reports whether the call has returned, with its error, or else why it waits no longer.
func (s *sink) wait(ctx context.Context, c *call) (returned bool, err error) {
	limit := time.NewTimer(s.config.Timeout)
	defer limit.Stop()
	select {
	case <-c.done:
		return true, s.classify(c.err)
	case <-limit.C:
		return false, outbox.Unknown(fmt.Errorf("wait %v: %w", s.config.Timeout, errGaveUp))
	case <-ctx.Done():
	}
	limit.Reset(min(patience, s.config.Timeout))
	select {
	case <-c.done:
		return true, s.classify(c.err)
	case <-limit.C:
		return false, outbox.Unknown(errStopped)
	}
}

// giveUp counts a call as given up until it returns, which is what ends the goroutine that runs it.
func (s *sink) giveUp(c *call) {
	s.givenUp.Add(1)
	go func() {
		<-c.done
		s.givenUp.Add(-1)
	}()
}

func (s *sink) classify(err error) error {
	if err == nil {
		return nil
	}
	if classified := s.config.Classify(err); classified != nil {
		return classified
	}
	return outbox.Unknown(err) // an error is never turned into an acceptance
}

func unknownUnlessClassified(err error) error {
	if outbox.ClassOf(err) == outbox.ClassRefused {
		return outbox.Unknown(err)
	}
	return err
}

// message copies the payload, because a Watermill publisher may keep or change what it is given.
func (s *sink) message(ctx context.Context, m *outbox.Message) *message.Message {
	w := message.NewMessageWithContext(ctx, m.ID.String(), slices.Clone(m.Payload))
	w.Metadata = metadata(m, s.config.KeyMetadata)
	return w
}
