package amqp

import (
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/outbox"
)

// TestForbidden has an internal exchange beside a queue: nobody may publish to such an exchange, and RabbitMQ says so
// with a 403.
func TestForbidden(t *testing.T) {
	t.Parallel()
	p, ch, queue := openWithQueue(t)
	internal := route{exchange: queue + "-internal"}
	declare := func(internalOnly bool) {
		t.Helper()
		err := ch.ExchangeDeclare(internal.exchange, amqp091.ExchangeFanout, true, false, internalOnly, false, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func() { _ = ch.ExchangeDelete(internal.exchange, false, false) }
	declare(true)
	t.Cleanup(remove)

	// publish sends two parcels to the exchange among six to the queue, and returns how many of the six are in the queue.
	publish := func(forbidden bool) (copies int) {
		t.Helper()
		parcels := parcelsTo(t, queue, 8)
		parcels[2].route, parcels[5].route = internal, internal
		c := p.newCall(t.Context(), len(parcels))
		defer c.giveBack()
		c.try(parcels)
		for i, r := range c.results {
			if i == 2 || i == 5 {
				if r.Accepted() == forbidden || forbidden && outbox.ClassOf(r.Err()) != outbox.ClassRetryAfter {
					t.Errorf("message %d to the exchange got %v, forbidden: %t", i, r.Err(), forbidden)
				}
			} else if !r.Accepted() {
				t.Errorf("message %d to the queue was not accepted: %v", i, r.Err())
			}
		}
		n, err := ch.QueuePurge(queue, false)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pass := func() {
		p.forbidden.mu.Lock()
		defer p.forbidden.mu.Unlock()
		r := p.forbidden.routes[internal]
		r.until = time.Now()
		p.forbidden.routes[internal] = r
	}

	publish(true)
	if n := publish(true); n != 6 {
		t.Errorf("%d copies of 6 messages while the refusal is fresh", n)
	}
	pass()
	if n := publish(true); n != 6 {
		t.Errorf("%d copies of 6 messages when the exchange was tried again", n)
	}
	if _, found, err := p.forbidden.recall(internal); !found || err == nil {
		t.Error("a refusal that was repeated is not fresh")
	}

	remove()
	declare(false)
	if err := ch.QueueBind(queue, "", internal.exchange, false, nil); err != nil {
		t.Fatal(err)
	}
	pass()
	if n := publish(false); n != 8 {
		t.Errorf("%d of 8 messages are in the queue once all may be sent", n)
	}
	if _, found, _ := p.forbidden.recall(internal); found {
		t.Error("an exchange that takes messages again is remembered as forbidden")
	}
}
