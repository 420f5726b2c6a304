package amqp_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

const batch = 500

// BenchmarkPublish sends batches of 500 messages of 300 bytes to a quorum queue from 1 and 4 goroutines:
// through the publisher, and by the bare client with deferred confirms and returns, each goroutine on a
// connection of its own.
func BenchmarkPublish(b *testing.B) {
	for _, workers := range []int{1, 4} {
		b.Run(fmt.Sprintf("postroom/W=%d", workers), func(b *testing.B) {
			exchange := benchExchange(b)
			p := open(b, amqp.Config{})
			run(b, workers, func(int) func() {
				ms := messages(batch, exchange, "placed")
				for _, m := range ms {
					m.Payload = bytes.Repeat([]byte{'x'}, 300)
				}
				return func() { publishAll(b, p, ms) }
			})
		})
		b.Run(fmt.Sprintf("bare/W=%d", workers), func(b *testing.B) {
			exchange := benchExchange(b)
			run(b, workers, func(int) func() { return bare(b, exchange) })
		})
	}
}

func benchExchange(b *testing.B) string {
	broker := connect(b)
	exchange, queue := broker.bound()
	b.Cleanup(func() { _, _ = broker.channel().QueuePurge(queue, false) })
	return exchange
}

// run shares b.N batches among workers and reports messages per second.
func run(b *testing.B, workers int, worker func(int) func()) {
	var todo sync.WaitGroup
	work := make(chan struct{}, b.N)
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	sends := make([]func(), workers)
	for i := range sends {
		sends[i] = worker(i)
		sends[i]() // connects
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, send := range sends {
		todo.Go(func() {
			for range work {
				send()
			}
		})
	}
	todo.Wait()
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "msg/s")
}

func publishAll(b *testing.B, p *amqp.Publisher, ms []*outbox.Message) {
	for _, r := range p.Publish(context.Background(), ms) {
		if !r.Accepted() {
			b.Errorf("not accepted: %v", r.Err())
			return
		}
	}
}

// bare returns what sends one batch with nothing but the client.
func bare(b *testing.B, exchange string) func() {
	conn, err := amqp091.Dial(testservices.AMQP(b))
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	must(b, err)
	must(b, ch.Confirm(false))
	returns := ch.NotifyReturn(make(chan amqp091.Return, batch))
	template := messages(1, exchange, "placed")[0]
	body := bytes.Repeat([]byte{'x'}, 300)
	return func() {
		confirms := make([]*amqp091.DeferredConfirmation, batch)
		for i := range confirms {
			headers := amqp091.Table{}
			for _, h := range outbox.WireHeaders(template) {
				headers[h.Name] = h.Value
			}
			confirm, err := ch.PublishWithDeferredConfirm(exchange, "placed", true, false, amqp091.Publishing{
				MessageId: template.ID.String(), DeliveryMode: amqp091.Persistent, Headers: headers, Body: body,
			})
			if err != nil {
				b.Error(err)
				return
			}
			confirms[i] = confirm
		}
		for _, confirm := range confirms {
			if !confirm.Wait() {
				b.Error("not confirmed")
			}
		}
		if len(returns) > 0 {
			b.Error("returned")
		}
	}
}
