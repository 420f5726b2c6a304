package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// closer is a publisher that the process owns.
type closer interface {
	outbox.Publisher
	Close() error
}

// openPublisher connects to either broker.
func openPublisher(o options) (closer, error) {
	if o.amqp != "" {
		return amqp.Open(amqp.Config{
			URLs: strings.Split(o.amqp, ","), Heartbeat: 2 * time.Second,
			ConfirmTimeout: o.patience, WriteTimeout: 3 * time.Second, DialTimeout: 3 * time.Second,
		})
	}
	return kafka.Open(kafka.Config{
		Brokers: strings.Split(o.kafka, ","), MaxMessageBytes: wire.MaxMessage,
		DeliveryTimeout: o.patience, RequestTimeout: o.patience / 2, NetworkTimeout: o.patience / 4,
		ClientOptions: []kgo.Opt{kgo.Dialer(dialVia(o.via))},
	})
}

// dialVia leads to a broker through the proxy before it; brokers tell clients their own address.
func dialVia(pairs string) func(ctx context.Context, network, address string) (net.Conn, error) {
	proxies := map[string]string{}
	for pair := range strings.SplitSeq(pairs, ",") {
		if broker, proxy, ok := strings.Cut(pair, "="); ok {
			proxies[broker] = proxy
		}
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if proxy, ok := proxies[address]; ok {
			address = proxy
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

// markedPublisher is the publisher with a point before and after each call. It marks every attempt to send, so that
// a copy that a relay made can be told from one that a queue hands out again.
type markedPublisher struct {
	outbox.Publisher
	points *points
	calls  atomic.Uint64
}

func publisherOf(o options, p outbox.Publisher, points *points) outbox.Publisher {
	marked := &markedPublisher{Publisher: p, points: points}
	if o.broken == brokenConfirm {
		return &hastyPublisher{marked}
	}
	return marked
}

// KeyOrdered is what the publisher itself promises.
func (p *markedPublisher) KeyOrdered() bool { return outbox.KeyOrdered(p.Publisher) }

func (p *markedPublisher) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	p.points.pass(atPublish)
	results := p.Publisher.Publish(ctx, p.mark(messages))
	p.points.pass(atConfirmed)
	return results
}

// mark returns copies that name the attempt. A message that is meant to be fatal ends the process.
func (p *markedPublisher) mark(messages []*outbox.Message) []*outbox.Message {
	attempt := outbox.Header{Name: wire.Attempt, Value: fmt.Sprintf("%d-%d", os.Getpid(), p.calls.Add(1))}
	marked := make([]*outbox.Message, len(messages))
	for i, m := range messages {
		if m.Type == wire.Fatal {
			die(wire.Fatal)
		}
		c := *m
		c.Headers = append(slices.Clone(m.Headers), attempt)
		marked[i] = &c
	}
	return marked
}
