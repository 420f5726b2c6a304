package amqp_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/internal/golden"
	"github.com/postroom/postroom/outbox"
)

// TestGolden holds what a consumer of the real broker reads, in each mode, against testdata/wire.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]cloudevents.Mode{
		"plain": cloudevents.Off, "binary": cloudevents.Binary, "structured": cloudevents.Structured,
	} {
		t.Run("a_consumer_reads_messages_that_are_"+name, func(t *testing.T) {
			t.Parallel()
			b := connect(t)
			exchange, queue := b.bound()
			messages := variants(exchange)
			p := open(t, amqp.Config{CloudEvents: cloudevents.Config{Mode: mode, Source: "/shop"}})
			wantTally(t, p.Publish(within(t, time.Minute), messages), map[string]int{"accepted": len(messages)})
			golden.Check(t, "wire/"+name, renderAll(b.take(queue)))
		})
	}

	t.Run("an_event_that_cannot_be_encoded_is_permanent_alone", func(t *testing.T) {
		t.Parallel()
		exchange, _ := connect(t).bound()
		p := open(t, amqp.Config{CloudEvents: cloudevents.Config{Mode: cloudevents.Binary, Source: "/shop"}})
		ms := messages(3, exchange, "placed")
		ms[1].Headers = []outbox.Header{{Name: "ce_Upper", Value: "x"}}
		wantTally(t, p.Publish(within(t, time.Minute), ms), map[string]int{"accepted": 2, "permanent": 1})
	})
}

// variants are a message with everything, one of bytes without a key, a tombstone, and an empty one.
func variants(exchange string) []*outbox.Message {
	all := []*outbox.Message{full(exchange), full(exchange), full(exchange), full(exchange)}
	all[1].Key, all[1].Payload, all[1].ContentType = "", []byte{0, 255, 10}, "application/octet-stream"
	all[2].Payload = nil
	all[3].Payload = []byte{}
	for i, m := range all {
		m.ID = uuid.MustParse(fmt.Sprintf("0197c1f0-5d5e-7c3a-8a52-%012d", i+1))
	}
	return all
}

// renderAll leaves out what differs from run to run, and the header that the queue adds.
func renderAll(deliveries []amqp091.Delivery) string {
	var b strings.Builder
	for _, d := range deliveries {
		fmt.Fprintf(&b, "routing key %q\nmessage-id %q\ntype %q\ncontent-type %q\ncorrelation-id %q\ndelivery-mode %d\n",
			d.RoutingKey, d.MessageId, d.Type, d.ContentType, d.CorrelationId, d.DeliveryMode)
		delete(d.Headers, "x-delivery-count")
		for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
			fmt.Fprintf(&b, "header %s %T %q\n", name, d.Headers[name], d.Headers[name])
		}
		fmt.Fprintf(&b, "body %q\n\n", d.Body)
	}
	return b.String()
}
