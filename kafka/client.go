package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxAge is half of the time after which a broker may forget an idle producer
	// (producer.id.expiration.ms). A broker that has forgotten one takes any first sequence from it.
	maxAge = 12 * time.Hour
	// breakOffTime bounds the wait for the answers of a client that is closed under its sends.
	breakOffTime = 2 * time.Second
	// reasonTime bounds the question why no broker could be reached.
	reasonTime = 500 * time.Millisecond
)

// errNoAnswer is the outcome of a record that was given up on.
var errNoAnswer = errors.New("no answer in time")

// client is a producer that one call of Publish has to itself.
type client struct {
	kafka *kgo.Client
	born  time.Time
	close func() // ends kafka in the background; may be called again

	known map[string]bool // topics whose partitions the client has loaded
	spent bool            // not to be used by another call
	wrote atomic.Bool     // produce requests went out since the last hand-over
}

// newClient connects to nothing yet. background runs what takes its time.
func newClient(options []kgo.Opt, background func(func())) (*client, error) {
	c := &client{born: time.Now(), known: make(map[string]bool)}
	k, err := kgo.NewClient(append(options[:len(options):len(options)], kgo.WithHooks(c))...)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	c.kafka = k
	c.close = sync.OnceFunc(func() { background(k.Close) })
	return c, nil
}

func (c *client) reusable() bool { return !c.spent && time.Since(c.born) < maxAge }

// OnBrokerWrite implements [kgo.HookBrokerWrite].
func (c *client) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, bytes int, _, _ time.Duration, _ error) {
	if key == int16(kmsg.Produce) && bytes > 0 {
		c.wrote.Store(true)
	}
}

// send hands over records in one flush and returns what came of each, nil if accepted. Between ctx's end
// and late's the broker may still answer; then the client is closed and what is open stays so. Nothing of
// it is ever sent later.
func (c *client) send(ctx, late context.Context, records []*kgo.Record) []error {
	f := newFlight(records)
	c.wrote.Store(false)
	handOver := context.WithoutCancel(ctx) // a cancelled record is dropped alone, before those of its key
	for i, r := range records {
		c.kafka.Produce(handOver, r, func(_ *kgo.Record, err error) { f.land(i, err) })
	}
	why := errNoAnswer
	if c.place(ctx, f) {
		_ = c.kafka.Flush(late) // its only error is late's end, and what that means is seen below
	} else {
		why = c.reason(ctx)
	}
	if !f.landed() {
		c.breakOff(f)
	}
	return f.answers(why)
}

// place waits until every record lies in a partition's batch or has failed, and reports whether the flush
// may begin.
//
// The client keeps the records of a topic that it does not know yet, asks for metadata, and then moves them into
// partitions one by one. Were it flushing meanwhile, the first batch could be on its way, and refused, while later
// records of its keys are still being moved: they would begin a new chain and be accepted. The client's list of
// partitions shows a topic only after all of its records have moved.
func (c *client) place(ctx context.Context, f *flight) bool {
	for !c.learn(f.waits(c.known)) {
		select {
		case <-time.After(time.Millisecond):
		case <-f.done:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return !f.torn()
}

// learn reports whether the client has loaded all of topics.
func (c *client) learn(topics []string) bool {
	for _, t := range topics {
		if !c.loaded(t) {
			return false
		}
		c.known[t] = true
	}
	return true
}

// loaded looks for a partition with a leader among the first ones; a topic without any can take nothing anyway.
func (c *client) loaded(topic string) bool {
	const enough = 64
	for p := range int32(enough) {
		if leader, _, _ := c.kafka.PartitionLeader(topic, p); leader >= 0 {
			return true
		}
	}
	return false
}

// reason asks why the client could not learn where its topics are. Nobody waits for the answer when the
// caller has left.
func (c *client) reason(ctx context.Context) error {
	if ctx.Err() == nil || ended(ctx) {
		return errNoAnswer
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTime)
	defer cancel()
	if err := c.kafka.Ping(ctx); err != nil {
		return fmt.Errorf("%w: %w", errTimeout, err)
	}
	return errTimeout
}

// breakOff closes the client, which fails what it still has, and waits a little for it to say so.
func (c *client) breakOff(f *flight) {
	c.spent = true
	c.close()
	timeout := time.NewTimer(breakOffTime)
	defer timeout.Stop()
	select {
	case <-f.done:
	case <-timeout.C:
	}
}
