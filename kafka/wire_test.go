package kafka_test

import (
	"context"
	"testing"
	"time"

	wmkafka "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wmmessage "github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func full(topic string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.MustParse("0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77"), Topic: topic, Key: "order-7", Type: "OrderPlaced",
		Version: 2, Payload: []byte(`{"id":7}`), ContentType: "application/json", Tenant: "acme",
		CreatedAt: time.Date(2026, 3, 1, 12, 30, 0, 123_000_000, time.UTC),
		Headers: []outbox.Header{
			{Name: "traceparent", Value: "00-1-2-01"}, {Name: "z", Value: "1"}, {Name: "a", Value: ""}, {Name: "z", Value: "2"},
		},
	}
}

// publish gets messages accepted by a publisher of their own.
func publish(t *testing.T, brokers []string, messages ...*outbox.Message) {
	t.Helper()
	wantAllAccepted(t, open(t, kafka.Config{Brokers: brokers}).Publish(within(t, patience), messages))
}

func TestWire(t *testing.T) {
	t.Parallel()

	t.Run("carries_fields_then_own_headers_in_order", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 1, nil)
		before := time.Now().Add(-time.Second)
		publish(t, brokers, full(topic))

		got := logs(t, brokers, topic)[0]
		want := []kgo.RecordHeader{
			{Key: "_watermill_message_uuid", Value: []byte("0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77")},
			{Key: "type", Value: []byte("OrderPlaced")},
			{Key: "version", Value: []byte("2")},
			{Key: "content-type", Value: []byte("application/json")},
			{Key: "tenant", Value: []byte("acme")},
			{Key: "created_at", Value: []byte("2026-03-01T12:30:00.123000Z")},
			{Key: "traceparent", Value: []byte("00-1-2-01")},
			{Key: "z", Value: []byte("1")},
			{Key: "a", Value: []byte("")},
			{Key: "z", Value: []byte("2")},
		}
		if diff := cmp.Diff(want, got.Headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if string(got.Key) != "order-7" || string(got.Value) != `{"id":7}` {
			t.Errorf("key %q, value %q", got.Key, got.Value)
		}
		if got.Timestamp.Before(before) {
			t.Errorf("timestamp = %v, want the time of the send", got.Timestamp)
		}
	})

	t.Run("tells_no_key_from_a_key_and_a_tombstone_from_an_empty_value", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 1, nil)
		tombstone, empty := full(topic), full(topic)
		tombstone.ID, tombstone.Payload = uuid.New(), nil
		empty.ID, empty.Payload, empty.Key = uuid.New(), []byte{}, ""
		publish(t, brokers, tombstone, empty)

		got := logs(t, brokers, topic)
		if got[0].Value != nil || string(got[0].Key) != "order-7" {
			t.Errorf("tombstone: value %v, key %q; want no value and the key", got[0].Value, got[0].Key)
		}
		if got[1].Value == nil || len(got[1].Value) != 0 || got[1].Key != nil {
			t.Errorf("empty payload: value %v, key %v; want an empty value and no key", got[1].Value, got[1].Key)
		}
	})

	t.Run("leaves_the_messages_as_they_were", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		m := full("a")
		publish(t, cluster.ListenAddrs(), m)
		if diff := cmp.Diff(full("a"), m); diff != "" {
			t.Errorf("message (-before +after):\n%s", diff)
		}
	})
}

func TestWatermill(t *testing.T) {
	t.Parallel()

	t.Run("subscriber_reads_id_metadata_and_payload", func(t *testing.T) {
		t.Parallel()
		brokers, topic := testservices.Kafka(t), realTopic(t, 4, nil)
		messages := append(keyed(topic, 10, 100), full(topic))
		publish(t, brokers, messages...)

		read := subscribe(t, brokers, topic, len(messages))
		for _, m := range messages {
			got, ok := read[m.ID.String()]
			if !ok {
				t.Fatalf("message %s was not read", m.ID)
			}
			want := wmmessage.Metadata{}
			for _, h := range outbox.WireHeaders(m)[1:] {
				want[h.Name] = h.Value
			}
			if diff := cmp.Diff(want, got.Metadata); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(m.Payload, []byte(got.Payload)); diff != "" {
				t.Errorf("payload (-want +got):\n%s", diff)
			}
		}
	})
}

// subscribe reads n messages with Watermill's own subscriber and marshaler.
func subscribe(t *testing.T, brokers []string, topic string, n int) map[string]*wmmessage.Message {
	t.Helper()
	config := wmkafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = -2 // the oldest
	subscriber, err := wmkafka.NewSubscriber(wmkafka.SubscriberConfig{
		Brokers: brokers, Unmarshaler: wmkafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
	}, nil)
	if err != nil {
		t.Fatalf("create the subscriber: %v", err)
	}
	t.Cleanup(func() {
		if err := subscriber.Close(); err != nil {
			t.Errorf("close the subscriber: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	in, err := subscriber.Subscribe(ctx, topic)
	if err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	read := make(map[string]*wmmessage.Message)
	for len(read) < n {
		select {
		case m := <-in:
			read[m.UUID] = m
			m.Ack()
		case <-ctx.Done():
			t.Fatalf("read %d of %d messages", len(read), n)
		}
	}
	return read
}
