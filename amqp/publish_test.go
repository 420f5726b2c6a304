package amqp_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
)

func TestPublish(t *testing.T) {
	t.Parallel()

	t.Run("accepts_what_is_in_the_queue", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		p := open(t, amqp.Config{})
		ms := messages(1200, exchange, "placed")
		wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"accepted": 1200})
		got := b.take(queue)
		if len(got) != len(ms) {
			t.Fatalf("queue holds %d messages, want %d", len(got), len(ms))
		}
		for i, d := range got {
			if d.MessageId != ms[i].ID.String() {
				t.Fatalf("message %d of the queue is %s, want %s: not in the order given", i, d.MessageId, ms[i].ID)
			}
		}
	})

	t.Run("answers_nothing_for_no_messages", func(t *testing.T) {
		t.Parallel()
		p := open(t, amqp.Config{})
		if got := p.Publish(t.Context(), nil); len(got) != 0 {
			t.Errorf("%d results for no messages", len(got))
		}
	})

	t.Run("reports_each_of_2000_unroutable_messages", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		p := open(t, amqp.Config{})
		begin := time.Now()
		results := p.Publish(within(t, time.Minute), messages(2000, b.exchange(amqp091.ExchangeTopic), "placed"))
		wantTally(t, results, map[string]int{"unroutable": 2000})
		if text := results[0].Err().Error(); !strings.Contains(text, "312 NO_ROUTE") {
			t.Errorf("error is %q, want the broker's 312 NO_ROUTE", text)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})

	t.Run("tells_routable_from_unroutable_in_one_call", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.exchange(amqp091.ExchangeDirect), b.queue()
		b.bind(queue, "bound", exchange)
		p := open(t, amqp.Config{Window: 7})
		var ms []*outbox.Message
		var want []string
		for i := range 300 {
			typ, w := "bound", "accepted"
			if i%3 == 1 {
				typ, w = "loose", "unroutable"
			}
			ms, want = append(ms, message(exchange, typ)), append(want, w)
		}
		if diff := cmp.Diff(want, words(p.Publish(within(t, time.Minute), ms))); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if got := len(b.take(queue)); got != 200 {
			t.Errorf("queue holds %d messages, want 200", got)
		}
	})

	t.Run("tells_two_routes_of_one_id_apart", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.exchange(amqp091.ExchangeDirect), b.queue()
		b.bind(queue, "bound", exchange)
		loose := message(exchange, "loose")
		bound := message(exchange, "bound")
		bound.ID = loose.ID
		got := words(open(t, amqp.Config{}).Publish(within(t, time.Minute), []*outbox.Message{loose, bound}))
		if diff := cmp.Diff([]string{"unroutable", "accepted"}, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})

	t.Run("delivers_once_bound_what_was_unroutable", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.exchange(amqp091.ExchangeTopic), b.queue()
		p := open(t, amqp.Config{})
		ms := messages(3, exchange, "placed")
		wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"unroutable": 3})
		b.bind(queue, "placed", exchange)
		wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"accepted": 3})
	})

	t.Run("fails_only_the_messages_of_a_missing_exchange", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		p := open(t, amqp.Config{})
		ms := messages(600, exchange, "placed")
		for i := 100; i < 600; i += 100 {
			ms[i].Topic = exchange + "-absent"
		}
		results := p.Publish(within(t, time.Minute), ms)
		wantTally(t, results, map[string]int{"accepted": 595, "unroutable": 5})
		if text := results[100].Err().Error(); !strings.Contains(text, "does not exist") {
			t.Errorf("error is %q, want that the exchange does not exist", text)
		}
		if got := len(b.take(queue)); got != 595 {
			t.Errorf("queue holds %d messages, want 595 without duplicates", got)
		}
	})

	t.Run("finds_an_exchange_that_appears", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		queue := b.queue()
		name := queue + "-late"
		p := open(t, amqp.Config{})
		ms := []*outbox.Message{message(name, "placed")}
		wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"unroutable": 1})
		must(t, b.ch.ExchangeDeclare(name, "fanout", true, false, false, false, nil))
		t.Cleanup(func() { _ = b.channel().ExchangeDelete(name, false, false) })
		b.bind(queue, "", name)
		eventually(t, 10*time.Second, func() bool {
			return p.Publish(within(t, time.Minute), ms)[0].Accepted()
		})
	})

	t.Run("takes_a_queue_that_is_full_for_a_refusal_that_passes", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange := b.exchange(amqp091.ExchangeFanout)
		queue := b.queueWith(amqp091.Table{"x-max-length": 10, "x-overflow": "reject-publish"})
		b.bind(queue, "", exchange)
		p := open(t, amqp.Config{Window: 1})
		wantTally(t, p.Publish(within(t, time.Minute), messages(30, exchange, "placed")),
			map[string]int{"accepted": 10, "retry_after": 20})
		b.take(queue)
		wantTally(t, p.Publish(within(t, time.Minute), messages(5, exchange, "placed")), map[string]int{"accepted": 5})
	})

	t.Run("uses_no_channel_again_that_has_refused_a_message", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange := b.exchange(amqp091.ExchangeFanout)
		b.bind(b.queueWith(amqp091.Table{"x-max-length": 1, "x-overflow": "reject-publish"}), "", exchange)
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		const lookup = 1
		for i, want := range []string{"accepted", "retry_after", "retry_after"} {
			wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{want: 1})
			if opened := proxy.channels(); opened != lookup+max(1, i) {
				t.Errorf("%d channels after %d calls, want a new one after each refusal", opened, i+1)
			}
		}
		if got := proxy.dials(); got != 2 {
			t.Errorf("%d connections, want 2: a refusal costs a channel, not a connection", got)
		}
	})

	t.Run("takes_a_deleted_queue_for_no_route", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		p := open(t, amqp.Config{})
		wantTally(t, p.Publish(within(t, time.Minute), messages(50, exchange, "placed")), map[string]int{"accepted": 50})
		_, err := b.ch.QueueDelete(queue, false, false, false)
		must(t, err)
		wantTally(t, p.Publish(within(t, time.Minute), messages(50, exchange, "placed")), map[string]int{"unroutable": 50})
	})

	t.Run("publishes_to_a_queue_through_the_default_exchange", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		queue := b.queue()
		p := open(t, amqp.Config{Route: func(m *outbox.Message) (string, string) { return "", m.Topic }})
		ms := []*outbox.Message{message(queue, "placed"), message(queue+"-absent", "placed")}
		if diff := cmp.Diff([]string{"accepted", "unroutable"}, words(p.Publish(within(t, time.Minute), ms))); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})

	t.Run("hands_over_nothing_when_the_context_has_ended", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		p := open(t, amqp.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantTally(t, p.Publish(ctx, messages(5, exchange, "placed")), map[string]int{"no word": 5})
		if got := len(b.take(queue)); got != 0 {
			t.Errorf("queue holds %d messages, want none", got)
		}
	})

	t.Run("refuses_before_the_hand_over_what_AMQP_cannot_encode", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		p := open(t, amqp.Config{})
		long := strings.Repeat("x", 300)
		ms := messages(8, exchange, "placed")
		ms[0].Type = long
		ms[1].Topic = long
		ms[2].Headers = []outbox.Header{{Name: long, Value: "v"}}
		ms[3].Headers = []outbox.Header{{Name: outbox.HeaderCorrelationID, Value: long}}
		ms[4].Headers = []outbox.Header{{Name: "big", Value: strings.Repeat("x", 200<<10)}}
		ms[5].Headers = []outbox.Header{{Name: "CC", Value: "elsewhere"}}
		ms[6].Headers = []outbox.Header{{Name: "BCC", Value: "elsewhere"}}
		want := append(slices.Repeat([]string{"permanent"}, 7), "accepted")
		results := p.Publish(within(t, time.Minute), ms)
		if diff := cmp.Diff(want, words(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		for i, r := range results[:7] {
			if text := r.Err().Error(); !strings.HasPrefix(text, "encode message: ") {
				t.Errorf("message %d was refused with %q, want it refused before it was sent", i, text)
			}
		}
		if got := len(b.take(queue)); got != 1 {
			t.Errorf("queue holds %d messages, want 1", got)
		}
	})
}

func TestConnections(t *testing.T) {
	t.Parallel()

	t.Run("are_as_many_as_calls_at_once_and_one_for_lookups", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		const calls = 6
		for range 10 {
			var running sync.WaitGroup
			for range calls {
				running.Go(func() {
					results := p.Publish(within(t, time.Minute), messages(100, exchange, "placed"))
					wantTally(t, results, map[string]int{"accepted": 100})
				})
			}
			running.Wait()
		}
		if got := proxy.dials(); got > calls+1 {
			t.Errorf("%d connections were opened, want at most %d", got, calls+1)
		}
		must(t, p.Close())
		eventually(t, 5*time.Second, func() bool { return proxy.live() == 0 })
	})
}

// eventually waits until done holds.
func eventually(t *testing.T, limit time.Duration, done func() bool) {
	t.Helper()
	end := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Now().After(end) {
			t.Fatalf("not so after %v", limit)
		}
		<-tick.C
	}
}
