package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/outbox"
)

// arrivals are the ids that a broker has taken, in its order, of each key.
type arrivals struct {
	mu  sync.Mutex
	ids map[string][]string
	n   int
}

func (a *arrivals) add(key, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids == nil {
		a.ids = map[string][]string{}
	}
	a.ids[key] = append(a.ids[key], id)
	a.n++
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// want holds what arrived against what was enqueued: all of it, once, in order of each key.
func (a *arrivals) want(tb testing.TB, enqueued []*outbox.Message) {
	tb.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	want := map[string][]string{}
	for _, m := range enqueued {
		want[m.Key] = append(want[m.Key], m.ID.String())
	}
	for key, ids := range want {
		if !slices.Equal(ids, a.ids[key]) {
			tb.Errorf("of key %s arrived %d of %d messages, or more than once, or not in order", key, len(a.ids[key]), len(ids))
		}
	}
	if a.n != len(enqueued) {
		tb.Errorf("%d messages arrived, %d were enqueued", a.n, len(enqueued))
	}
}

// testBroker is a topic of a broker that keeps what it gets.
type testBroker struct {
	settings string // of a transport
	topic    string
	arrived  *arrivals
}

var testBrokers = map[string]func(tb testing.TB) testBroker{"Kafka": onKafka, "RabbitMQ": onRabbitMQ}

func onKafka(tb testing.TB) testBroker {
	tb.Helper()
	seeds := testservices.Kafka(tb)
	b := testBroker{
		settings: "kafka: {brokers: [" + strings.Join(seeds, ", ") + "]}",
		topic:    testservices.Name("postroom"), arrived: &arrivals{},
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ConsumeTopics(b.topic))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	testtopic.Create(tb, kadm.NewClient(client), b.topic, 4, nil)
	ctx, end := context.WithCancel(tb.Context())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				for _, h := range r.Headers {
					if h.Key == outbox.HeaderID {
						b.arrived.add(string(r.Key), string(h.Value))
					}
				}
			})
		}
	})
	tb.Cleanup(func() { end(); reading.Wait() })
	return b
}

// onRabbitMQ sends the key as a header that the messages of these tests have: RabbitMQ has no keys.
func onRabbitMQ(tb testing.TB) testBroker {
	tb.Helper()
	b := testBroker{
		settings: "amqp: {urls: [" + testservices.AMQP(tb) + "]}",
		topic:    testservices.Name("postroom"), arrived: &arrivals{},
	}
	channel := rabbitChannel(tb)
	must(tb, channel.ExchangeDeclare(b.topic, amqp091.ExchangeTopic, true, false, false, false, nil))
	tb.Cleanup(func() { _ = channel.ExchangeDelete(b.topic, false, false) })
	_, err := channel.QueueDeclare(b.topic, true, false, false, false, nil)
	must(tb, err)
	tb.Cleanup(func() { _, _ = channel.QueueDelete(b.topic, false, false, false) })
	must(tb, channel.QueueBind(b.topic, "#", b.topic, false, nil))
	deliveries, err := rabbitChannel(tb).Consume(b.topic, "", true, true, false, false, nil)
	must(tb, err)
	go func() { // ends with the channel
		for d := range deliveries {
			key, _ := d.Headers[keyHeader].(string)
			b.arrived.add(key, d.MessageId)
		}
	}()
	return b
}

const keyHeader = "test-key"

func rabbitChannel(tb testing.TB) *amqp091.Channel {
	tb.Helper()
	connection, err := amqp091.Dial(testservices.AMQP(tb))
	must(tb, err)
	tb.Cleanup(func() { _ = connection.Close() })
	channel, err := connection.Channel()
	must(tb, err)
	return channel
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
