package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

// QueueArgs make a quorum queue of one active consumer: what one that lost its connection had in hand comes first to
// the next one, so that the order of first receipts is the order of the queue.
func QueueArgs() amqp091.Table {
	return amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum, "x-single-active-consumer": true}
}

const (
	prefetch   = 300
	heartbeat  = 2 * time.Second
	retryAfter = 300 * time.Millisecond

	// A quorum queue that was deleted and declared again was seen to take no acknowledgement, and to hand out nothing
	// more. Whoever has got nothing for so long begins anew.
	longestIdle = 3 * time.Second
)

// AMQP reads one queue for each topic, of the topic's name.
type AMQP struct {
	notebook
	ctx    context.Context //nolint:containedctx // of all readers
	urls   []string
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	topics []string
	failed error
}

// OpenAMQP begins to read.
func OpenAMQP(ctx context.Context, urls []string, history *verify.Writer) *AMQP {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &AMQP{notebook: notebook{history: history}, ctx: ctx, urls: urls, cancel: cancel}
	for _, topic := range Topics() {
		a.Include(topic)
	}
	return a
}

// Include starts to read a further topic's queue, which need not exist yet.
func (a *AMQP) Include(topic string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.topics = append(a.topics, topic)
	a.wg.Go(func() {
		r := &reader{AMQP: a, topic: topic, attempts: map[attempt]struct{}{}}
		if err := r.run(a.ctx); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.failed = errors.Join(a.failed, err)
		}
	})
}

// Close ends reading.
func (a *AMQP) Close() error {
	a.cancel()
	a.wg.Wait()
	return a.failed
}

// Drained asks for the length of each queue. What consumers have in hand is counted neither there nor here, so it
// is asked once more after all are idle.
func (a *AMQP) Drained(ctx context.Context) (bool, error) {
	a.mu.Lock()
	topics, failed := a.topics, a.failed
	a.mu.Unlock()
	if failed != nil {
		return false, failed
	}
	before := a.Delivered()
	for range 2 {
		for _, topic := range topics {
			n, err := a.length(topic)
			if err != nil || n > 0 {
				return false, err
			}
		}
		if !wait.For(ctx, time.Second) {
			return false, ctx.Err()
		}
	}
	return a.Delivered() == before, nil
}

func (a *AMQP) length(topic string) (int, error) {
	connection, err := dial(a.urls, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close() }()
	channel, err := connection.Channel()
	if err != nil {
		return 0, err
	}
	q, err := channel.QueueDeclarePassive(topic, true, false, false, false, QueueArgs())
	return q.Messages, err
}

// dial tries the nodes in turn, beginning with one of them.
func dial(urls []string, first int) (connection *amqp091.Connection, err error) {
	for i := range urls {
		config := amqp091.Config{Heartbeat: heartbeat, Dial: amqp091.DefaultDial(heartbeat)}
		config.Properties = amqp091.Table{"connection_name": "chaos-consumer"}
		if connection, err = amqp091.DialConfig(urls[(first+i)%len(urls)], config); err == nil {
			return connection, nil
		}
	}
	return nil, err
}

// attempt is one hand-over of one message by a relay.
type attempt struct{ id, number string }

// reader reads one queue.
type reader struct {
	*AMQP
	topic    string
	offset   int64
	attempts map[attempt]struct{}
}

// run reads over one connection after another.
func (r *reader) run(ctx context.Context) error {
	for n := 0; ; n++ {
		if err := r.read(ctx, n); err != nil {
			return err
		}
		if !wait.For(ctx, retryAfter) {
			return nil
		}
	}
}

// read reads until the connection or the queue is gone.
func (r *reader) read(ctx context.Context, n int) error {
	connection, err := dial(r.urls, n)
	if err != nil {
		return nil
	}
	defer func() { _ = connection.Close() }()
	channel, err := connection.Channel()
	if err != nil || channel.Qos(prefetch, 0, false) != nil {
		return nil
	}
	deliveries, err := channel.Consume(r.topic, "", false, false, false, false, nil)
	if err != nil {
		return nil
	}
	idle := time.NewTimer(longestIdle)
	defer idle.Stop()
	for {
		select {
		case <-idle.C:
			return nil
		case d, ok := <-deliveries:
			if !ok {
				return nil
			}
			idle.Reset(longestIdle)
			if err := r.take(d); err != nil {
				return err
			}
			_ = d.Ack(false) // one that is lost lets the message come again
		case <-ctx.Done():
			return nil
		}
	}
}

// take notes a delivery. One that the broker hands out again was noted before if it is of the same attempt.
func (r *reader) take(d amqp091.Delivery) error {
	number, _ := d.Headers[wire.Attempt].(string)
	id, _ := d.Headers[outbox.HeaderID].(string)
	a := attempt{id, number}
	_, seen := r.attempts[a]
	r.attempts[a] = struct{}{}
	noted := verify.Record{
		Topic: r.topic, Stream: r.topic, Offset: r.offset, Redelivered: seen && d.Redelivered, At: time.Now(),
	}
	r.offset++
	if err := r.note(noted, id, d.Type, d.Body); err != nil {
		return fmt.Errorf("note a delivery: %w", err)
	}
	return nil
}
