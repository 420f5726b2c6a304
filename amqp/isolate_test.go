package amqp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
)

// wantCopies fails the test unless the queue holds each accepted message, at least once and at most limit
// times.
func wantCopies(t *testing.T, b *broker, queue string, ms []*outbox.Message, results []outbox.Result, limit int) {
	t.Helper()
	held := ids(b.take(queue))
	for i, r := range results {
		n := held[ms[i].ID.String()]
		if r.Accepted() && (n < 1 || n > limit) {
			t.Errorf("accepted message %d is %d times in the queue, want 1 to %d", i, n, limit)
		}
	}
}

func TestClosedChannel(t *testing.T) {
	t.Parallel()

	t.Run("over_an_exchange_that_was_deleted_fails_its_messages_alone", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		gone, _ := b.bound()
		p := open(t, amqp.Config{})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, gone, "placed")), map[string]int{"accepted": 1})
		must(t, b.ch.ExchangeDelete(gone, false, false))

		ms := messages(600, exchange, "placed")
		for _, i := range []int{300, 301, 450} {
			ms[i].Topic = gone
		}
		results := p.Publish(within(t, time.Minute), ms)
		wantTally(t, results, map[string]int{"accepted": 597, "unroutable": 3})
		wantCopies(t, b, queue, ms, results, 2)

		results = p.Publish(within(t, time.Minute), ms) // now it is looked up again
		wantTally(t, results, map[string]int{"accepted": 597, "unroutable": 3})
		wantCopies(t, b, queue, ms, results, 1)
	})

	t.Run("over_an_exchange_that_may_not_be_written_fails_its_messages_alone", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		internal := exchange + "-internal"
		must(t, b.ch.ExchangeDeclare(internal, "topic", true, false, true, false, nil))
		t.Cleanup(func() { _ = b.channel().ExchangeDelete(internal, false, false) })
		p := open(t, amqp.Config{})
		ms := messages(500, exchange, "placed")
		for _, i := range []int{0, 250, 499} {
			ms[i].Topic = internal
		}
		results := p.Publish(within(t, time.Minute), ms)
		wantTally(t, results, map[string]int{"accepted": 497, string(outbox.ClassRetryAfter): 3})
		if text := results[0].Err().Error(); !strings.Contains(text, "403") {
			t.Errorf("error is %q, want the broker's 403", text)
		}
		wantCopies(t, b, queue, ms, results, 2)

		results = p.Publish(within(t, time.Minute), ms) // now it is known, and costs the others no second copy
		wantTally(t, results, map[string]int{"accepted": 497, string(outbox.ClassRetryAfter): 3})
		wantCopies(t, b, queue, ms, results, 1)
	})

	t.Run("leaves_the_publisher_in_use", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		internal := exchange + "-internal"
		must(t, b.ch.ExchangeDeclare(internal, "topic", true, false, true, false, nil))
		t.Cleanup(func() { _ = b.channel().ExchangeDelete(internal, false, false) })
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		for range 20 {
			ms := append(messages(1, internal, "placed"), messages(1, exchange, "placed")...)
			wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"accepted": 1, string(outbox.ClassRetryAfter): 1})
		}
		if got := proxy.dials(); got != 2 {
			t.Errorf("%d connections were opened, want 2", got)
		}
	})
}

func TestTrustQueues(t *testing.T) {
	t.Parallel()

	t.Run("makes_the_publisher_a_key_orderer", func(t *testing.T) {
		t.Parallel()
		if outbox.KeyOrdered(open(t, amqp.Config{})) {
			t.Error("KeyOrdered is true by default")
		}
		if !outbox.KeyOrdered(open(t, amqp.Config{TrustQueues: true})) {
			t.Error("KeyOrdered is false with TrustQueues")
		}
	})

	t.Run("accepts_a_prefix_of_each_key", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.exchange(amqp091.ExchangeDirect), b.queue()
		b.bind(queue, "bound", exchange)
		p := open(t, amqp.Config{TrustQueues: true, Window: 10})
		keyed := func(key string, types ...string) (ms []*outbox.Message) {
			for _, typ := range types {
				m := message(exchange, typ)
				m.Key = key
				ms = append(ms, m)
			}
			return ms
		}
		long := strings.Repeat("x", 300)
		ms := slices.Concat(
			keyed("a", "bound", "bound", "loose", "loose", "bound"),
			keyed("b", "bound", long, "bound"),
			keyed("c", "bound", "bound", "bound"),
			keyed("", "loose", "bound"),
		)
		want := []string{
			"accepted", "accepted", "unroutable", "unroutable", "no word",
			"accepted", "permanent", "no word",
			"accepted", "accepted", "accepted",
			"unroutable", "accepted",
		}
		got := words(p.Publish(within(t, time.Minute), ms))
		if !slices.Equal(got, want) {
			t.Errorf("results %v\nwant    %v", got, want)
		}
		if held := len(b.take(queue)); held != 7 {
			t.Errorf("queue holds %d messages, want 7", held)
		}
	})
}
