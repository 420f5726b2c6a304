package amqp_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	watermillamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// full returns a message that uses every field.
func full(exchange string) *outbox.Message {
	return &outbox.Message{
		ID:    uuid.MustParse("0197c1f0-5d5e-7c3a-8a52-6b1f0e1d2c3b"),
		Topic: exchange, Key: "order-7", Type: "OrderPlaced", Version: 3,
		Payload: []byte(`{"id":7, "ä":"\u0000"}`), ContentType: "application/json",
		Headers: []outbox.Header{
			{Name: "correlation_id", Value: "c-1"},
			{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			{Name: "tracestate", Value: "vendor=a,other=b"},
			{Name: "baggage", Value: "k=v"},
			{Name: "twice", Value: "first"},
			{Name: "twice", Value: "last"},
			{Name: "empty", Value: ""},
			{Name: "Größe", Value: "groß 😀"},
		},
		Tenant:    "acme",
		CreatedAt: time.Date(2026, 5, 4, 3, 2, 1, 987654000, time.FixedZone("", 7200)),
	}
}

func TestWire(t *testing.T) {
	t.Parallel()

	t.Run("a_consumer_sees_these_properties_and_headers", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		m := full(exchange)
		begin := time.Now().Truncate(time.Second)
		p := open(t, amqp.Config{})
		wantTally(t, p.Publish(within(t, time.Minute), []*outbox.Message{m}), map[string]int{"accepted": 1})
		got := b.take(queue)[0]
		delete(got.Headers, "x-delivery-count") // the queue's own
		if got.Timestamp.Before(begin) || got.Timestamp.After(time.Now()) {
			t.Errorf("timestamp is %v, want the time of the publish", got.Timestamp)
		}
		type wire struct {
			Exchange, RoutingKey                              string
			MessageID, Type, ContentType, Correlation, Coding string
			DeliveryMode                                      uint8
			Expiration, UserID, AppID, ReplyTo                string
			Headers                                           amqp091.Table
			Body                                              string
		}
		want := wire{
			Exchange: exchange, RoutingKey: "OrderPlaced",
			MessageID: "0197c1f0-5d5e-7c3a-8a52-6b1f0e1d2c3b", Type: "OrderPlaced",
			ContentType: "application/json", Correlation: "c-1", DeliveryMode: 2,
			Headers: amqp091.Table{
				"_watermill_message_uuid": "0197c1f0-5d5e-7c3a-8a52-6b1f0e1d2c3b",
				"type":                    "OrderPlaced",
				"version":                 "3",
				"tenant":                  "acme",
				"content-type":            "application/json",
				"created_at":              "2026-05-04T01:02:01.987654Z",
				"correlation_id":          "c-1",
				"traceparent":             "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
				"tracestate":              "vendor=a,other=b",
				"baggage":                 "k=v",
				"twice":                   "last",
				"empty":                   "",
				"Größe":                   "groß 😀",
			},
			Body: `{"id":7, "ä":"\u0000"}`,
		}
		seen := wire{
			got.Exchange, got.RoutingKey, got.MessageId, got.Type, got.ContentType, got.CorrelationId, got.ContentEncoding,
			got.DeliveryMode, got.Expiration, got.UserId, got.AppId, got.ReplyTo, got.Headers, string(got.Body),
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("message as received (-want +got):\n%s", diff)
		}
	})

	t.Run("a_payload_arrives_byte_for_byte_and_a_tombstone_empty", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, queue := b.bound()
		bodies := [][]byte{nil, {}, {0, 255, 0xce, 10}, make([]byte, 300<<10)}
		ms := messages(len(bodies), exchange, "placed")
		for i, body := range bodies {
			ms[i].Payload = body
		}
		wantTally(t, open(t, amqp.Config{}).Publish(within(t, time.Minute), ms), map[string]int{"accepted": len(bodies)})
		for i, d := range b.take(queue) {
			if string(d.Body) != string(bodies[i]) {
				t.Errorf("body %d arrived with %d bytes, differing from the %d given", i, len(d.Body), len(bodies[i]))
			}
		}
	})

	t.Run("the_caller_s_message_stays_as_it_is", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		m := full(exchange)
		open(t, amqp.Config{}).Publish(within(t, time.Minute), []*outbox.Message{m})
		if diff := cmp.Diff(full(exchange), m); diff != "" {
			t.Errorf("Publish changed the message (-before +after):\n%s", diff)
		}
	})

	t.Run("watermill_s_subscriber_reads_id_metadata_and_payload", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange := b.exchange(amqp091.ExchangeFanout)
		queue := testservices.Name("amqp")
		config := watermillamqp.NewDurablePubSubConfig(testservices.AMQP(t), func(string) string { return queue })
		config.Exchange.GenerateName = func(topic string) string { return topic }
		config.Exchange.Type = amqp091.ExchangeFanout
		subscriber, err := watermillamqp.NewSubscriber(config, watermill.NopLogger{})
		must(t, err)
		t.Cleanup(func() {
			_ = subscriber.Close()
			_, _ = b.channel().QueueDelete(queue, false, false, false)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		received, err := subscriber.Subscribe(ctx, exchange)
		must(t, err)

		m := full(exchange)
		wantTally(t, open(t, amqp.Config{}).Publish(ctx, []*outbox.Message{m}), map[string]int{"accepted": 1})
		select {
		case got := <-received:
			got.Ack()
			if got.UUID != m.ID.String() || string(got.Payload) != string(m.Payload) {
				t.Errorf("received %s %q, want %s %q", got.UUID, got.Payload, m.ID, m.Payload)
			}
			for name, want := range map[string]string{
				"type": "OrderPlaced", "version": "3", "tenant": "acme", "correlation_id": "c-1", "twice": "last",
				"traceparent": m.Headers[1].Value,
			} {
				if v := got.Metadata.Get(name); v != want {
					t.Errorf("metadata %s is %q, want %q", name, v, want)
				}
			}
		case <-ctx.Done():
			t.Fatal("Watermill's subscriber received nothing")
		}
	})
}
