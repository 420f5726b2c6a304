package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// call is one call of Publish: what it was given, what came of it, and what must not be sent any more.
type call struct {
	client    *client
	borrow    func() (*client, error)
	giveBack  func(*client)
	limits    *limits
	records   []*kgo.Record
	refused   map[int]error // records that cannot be encoded
	sizes     []int         // of the records, in a batch
	results   []outbox.Result
	late      context.Context // ends a grace later than the call's own
	lastStart time.Time       // when the last flush may begin, so that it has time to end

	failed  map[string]bool    // keys of which nothing more may leave
	held    map[string]verdict // topics that take nothing
	stopped bool               // a broker did not answer
}

func newCall(client *client, limits *limits, events cloudevents.Config, messages []*outbox.Message) *call {
	records, refused := encode(events, messages...)
	return &call{
		client: client, limits: limits,
		records: records,
		refused: refused,
		sizes:   sizesInBatch(records),
		results: make([]outbox.Result, len(messages)),
		failed:  make(map[string]bool),
		held:    make(map[string]verdict),
	}
}

func (c *call) run(ctx context.Context) {
	at := c.admit()
	c.limits.learn(ctx, c.client.kafka, topicsOf(c.records))
	for _, flush := range plan(c.records, c.sizes, at, c.limits.batch) {
		if c.over(ctx) {
			return
		}
		c.isolate(ctx, c.send(ctx, flush))
	}
}

// admit refuses what no client could send, and leaves out what follows it under its key. What precedes it goes out.
func (c *call) admit() []int {
	at := make([]int, 0, len(c.records))
	behind := make(map[string]bool)
	for i, r := range c.records {
		if behind[string(r.Key)] {
			continue
		}
		if err := c.checkRecord(i); err != nil {
			c.results[i] = outbox.Failed(outbox.Permanent(err))
			if r.Key != nil {
				behind[string(r.Key)] = true
			}
			continue
		}
		at = append(at, i)
	}
	return at
}

// checkRecord refuses record i if it has no wire form, or if the client would.
func (c *call) checkRecord(i int) error {
	r, size := c.records[i], batchOverhead+c.sizes[i]
	if err := c.refused[i]; err != nil {
		return err
	}
	if r.Topic == "" {
		return errors.New("publish without a topic")
	}
	if size > c.limits.max {
		return fmt.Errorf("publish %d bytes to topic %s, MaxMessageBytes is %d: %w",
			size, r.Topic, c.limits.max, kerr.MessageTooLarge)
	}
	return nil
}

// over reports whether nothing more may be handed over.
func (c *call) over(ctx context.Context) bool {
	return c.stopped || ctx.Err() != nil || time.Now().After(c.lastStart)
}

// refusal is a record of a batch that the broker refused because of one of its records.
type refusal struct {
	at  int
	err error // marked with its class
}

// send puts one flush of records out, settles all that is clear, and returns the records of refused batches.
func (c *call) send(ctx context.Context, flush []int) []refusal {
	at := c.sendable(flush)
	if len(at) == 0 || !c.exchange() {
		return nil
	}
	records := make([]*kgo.Record, len(at))
	for n, i := range at {
		records[n] = c.records[i]
	}
	var refused []refusal
	errs := c.client.send(ctx, c.late, records)
	sent := c.client.wrote.Load()
	for n, i := range at {
		v := classify(errs[n], sent)
		if v.about == aboutMessage {
			refused = append(refused, refusal{i, v.err})
			continue
		}
		c.settle(ctx, i, v)
	}
	if len(refused) > 0 {
		// A client that has told of a refusal goes on to fail whatever lies in that partition's buffer. A record that is
		// handed over meanwhile would share the refusal unsent, and a single one would be taken for its cause.
		c.client.spent = true
	}
	return refused
}

// exchange makes sure that the next flush has a client without a past, and reports whether there is one.
func (c *call) exchange() bool {
	if !c.client.spent {
		return true
	}
	fresh, err := c.borrow()
	if err != nil {
		c.stopped = true
		return false
	}
	c.giveBack(c.client)
	c.client = fresh
	return true
}

// sendable leaves out what has become impossible since it was planned.
func (c *call) sendable(flush []int) []int {
	at := make([]int, 0, len(flush))
	for _, i := range flush {
		r := c.records[i]
		if c.failed[string(r.Key)] {
			continue
		}
		if v, held := c.held[r.Topic]; held {
			c.fail(i, v.err)
			continue
		}
		at = append(at, i)
	}
	return at
}

// settle turns an answer into a Result, and into what must not be sent after it.
func (c *call) settle(ctx context.Context, i int, v verdict) {
	r := c.records[i]
	switch v.about {
	case aboutNothing:
		c.results[i] = outbox.Accepted
		return
	case aboutTopic:
		c.held[r.Topic] = v
		c.client.spent = true // it remembers the topic as missing, or under an id that is no more
	case aboutBroker:
		c.stopped = true
		c.client.spent = true // what it broke off has left gaps in its sequences
		if outbox.ClassOf(v.err) == outbox.ClassUnavailable && ended(ctx) {
			c.failKey(r)
			return // the zero Result: never handed over
		}
	}
	c.fail(i, v.err)
}

// fail gives record i its error; nothing more of its key leaves.
func (c *call) fail(i int, err error) {
	r := c.records[i]
	c.results[i] = outbox.Failed(inTopic(r.Topic, err))
	c.failKey(r)
}

func (c *call) failKey(r *kgo.Record) {
	if r.Key != nil {
		c.failed[string(r.Key)] = true
	}
}

// inTopic names the topic in err, whose class stays.
func inTopic(topic string, err error) error { return fmt.Errorf("publish to topic %s: %w", topic, err) }

// ended reports whether the caller or Close, and not our own time limit, has ended ctx.
func ended(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout)
}

func topicsOf(records []*kgo.Record) []string {
	var topics []string
	seen := make(map[string]bool)
	for _, r := range records {
		if r.Topic != "" && !seen[r.Topic] {
			seen[r.Topic] = true
			topics = append(topics, r.Topic)
		}
	}
	return topics
}
