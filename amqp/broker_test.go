package amqp_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// broker is the test's own view of RabbitMQ.
type broker struct {
	tb   testing.TB
	conn *amqp091.Connection
	ch   *amqp091.Channel
}

func connect(tb testing.TB) *broker {
	tb.Helper()
	conn, err := amqp091.Dial(testservices.AMQP(tb))
	if err != nil {
		tb.Fatalf("dial broker: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	b := &broker{tb: tb, conn: conn}
	b.ch = b.channel()
	return b
}

func (b *broker) channel() *amqp091.Channel {
	b.tb.Helper()
	ch, err := b.conn.Channel()
	must(b.tb, err)
	return ch
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// exchange declares an exchange that ends with the test.
func (b *broker) exchange(kind string) string {
	b.tb.Helper()
	name := testservices.Name("amqp")
	must(b.tb, b.ch.ExchangeDeclare(name, kind, true, false, false, false, nil))
	b.tb.Cleanup(func() { _ = b.channel().ExchangeDelete(name, false, false) })
	return name
}

// queue declares a quorum queue that ends with the test.
func (b *broker) queue() string { return b.queueWith(amqp091.Table{"x-queue-type": "quorum"}) }

func (b *broker) queueWith(args amqp091.Table) string {
	b.tb.Helper()
	name := testservices.Name("amqp")
	_, err := b.ch.QueueDeclare(name, true, false, false, false, args)
	must(b.tb, err)
	b.tb.Cleanup(func() { _, _ = b.channel().QueueDelete(name, false, false, false) })
	return name
}

func (b *broker) bind(queue, key, exchange string) {
	b.tb.Helper()
	must(b.tb, b.ch.QueueBind(queue, key, exchange, false, nil))
}

// bound returns a topic exchange, and a quorum queue that gets everything sent to it.
func (b *broker) bound() (exchange, queue string) {
	b.tb.Helper()
	exchange, queue = b.exchange(amqp091.ExchangeTopic), b.queue()
	b.bind(queue, "#", exchange)
	return exchange, queue
}

// take removes everything that the queue holds now.
func (b *broker) take(queue string) []amqp091.Delivery {
	b.tb.Helper()
	var all []amqp091.Delivery
	for {
		d, ok, err := b.ch.Get(queue, true)
		must(b.tb, err)
		if !ok {
			return all
		}
		all = append(all, d)
	}
}

// ids counts the copies of each message id in deliveries.
func ids(deliveries []amqp091.Delivery) map[string]int {
	n := map[string]int{}
	for _, d := range deliveries {
		n[d.MessageId]++
	}
	return n
}

// open returns a publisher that ends with the test.
func open(tb testing.TB, config amqp.Config) *amqp.Publisher {
	tb.Helper()
	if config.URLs == nil {
		config.URLs = []string{testservices.AMQP(tb)}
	}
	config.Logger = slog.New(slog.DiscardHandler)
	p, err := amqp.Open(config)
	must(tb, err)
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Errorf("close publisher: %v", err)
		}
	})
	return p
}

// message returns one to exchange with routing key typ.
func message(exchange, typ string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.New(), Topic: exchange, Type: typ, Version: 1,
		ContentType: "application/json", Payload: []byte(`{"n":1}`),
	}
}

func messages(n int, exchange, typ string) []*outbox.Message {
	ms := make([]*outbox.Message, n)
	for i := range ms {
		ms[i] = message(exchange, typ)
		ms[i].Payload = fmt.Appendf(nil, `{"n":%d}`, i)
	}
	return ms
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// word is a result in one word, for comparing.
func word(r outbox.Result) string {
	switch {
	case r.Accepted():
		return "accepted"
	case r.Err() == nil:
		return "no word"
	}
	return string(outbox.ClassOf(r.Err()))
}

func words(results []outbox.Result) []string {
	ws := make([]string, len(results))
	for i, r := range results {
		ws[i] = word(r)
	}
	return ws
}

// tally counts results by word.
func tally(results []outbox.Result) map[string]int {
	n := map[string]int{}
	for _, r := range results {
		n[word(r)]++
	}
	return n
}

// wantTally fails the test unless results are as counted, and shows one error of each kind.
func wantTally(t *testing.T, results []outbox.Result, want map[string]int) {
	t.Helper()
	got := tally(results)
	same := len(got) == len(want)
	for w, n := range want {
		same = same && got[w] == n
	}
	if same {
		return
	}
	t.Errorf("results = %v, want %v", got, want)
	shown := map[string]bool{}
	for _, r := range results {
		if w := word(r); !shown[w] && r.Err() != nil {
			shown[w] = true
			t.Logf("%s: %v", w, r.Err())
		}
	}
}
