package kafka_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// cutter counts the reads and writes of all connections and cuts the connection of one of them, once: before it, or in
// the middle of a write.
type cutter struct {
	steps  atomic.Int64
	at     int64
	middle bool
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return cuttable{conn, c}, nil
}

func (c *cutter) option() kgo.Opt { return kgo.Dialer(c.dial) }

type cuttable struct {
	net.Conn
	cutter *cutter
}

func (c cuttable) Write(b []byte) (int, error) {
	if c.cutter.steps.Add(1) != c.cutter.at {
		return c.Conn.Write(b)
	}
	n := 0
	if c.cutter.middle {
		n, _ = c.Conn.Write(b[:len(b)/2])
	}
	_ = c.Close()
	return n, net.ErrClosed
}

func (c cuttable) Read(b []byte) (int, error) {
	if c.cutter.steps.Add(1) == c.cutter.at {
		_ = c.Close()
	}
	return c.Conn.Read(b)
}

func TestCuts(t *testing.T) {
	t.Parallel()
	brokers, topic := testservices.Kafka(t), realTopic(t, 4, nil)
	throughCut := func(c *cutter) published {
		p := open(t, kafka.Config{Brokers: brokers, ClientOptions: []kgo.Opt{c.option()}})
		call := published{messages: keyed(topic, 10, 50)}
		call.results = p.Publish(within(t, patience), call.messages)
		for i, r := range call.results {
			class := outbox.ClassOf(r.Err())
			if r.Err() != nil && class != outbox.ClassUnknown && class != outbox.ClassUnavailable {
				t.Errorf("cut at %d: message %d failed with %v, want that nobody answered", c.at, i, r.Err())
			}
		}
		eventuallyAccepted(t, p, topic)
		return call
	}
	whole := &cutter{}
	calls := []published{throughCut(whole)}
	for at := range whole.steps.Load() + 1 {
		for _, middle := range []bool{false, true} {
			calls = append(calls, throughCut(&cutter{at: at + 1, middle: middle}))
		}
	}
	n := check(t, calls, logs(t, brokers, topic))
	if whole := accepted(calls[0].results); whole != 50 {
		t.Errorf("%d of 50 messages accepted without a cut", whole)
	}
	t.Logf("%d steps, %d of %d messages accepted", whole.steps.Load(), n, len(calls)*50)
}
