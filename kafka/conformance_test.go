package kafka_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/publishertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()

	t.Run("when_the_publisher_refuses", func(t *testing.T) {
		t.Parallel()
		publishertest.Run(t, func(t *testing.T) publishertest.Subject {
			return subject(t, testservices.Kafka(t), kafka.Config{MaxMessageBytes: 25_000}, nil)
		})
	})

	t.Run("when_the_broker_refuses", func(t *testing.T) {
		t.Parallel()
		publishertest.Run(t, func(t *testing.T) publishertest.Subject {
			return subject(t, testservices.Kafka(t), kafka.Config{}, map[string]string{"max.message.bytes": "25000"})
		})
	})

	t.Run("in_process_when_the_hand_over_is_slow", func(t *testing.T) {
		t.Parallel()
		publishertest.Run(t, func(t *testing.T) publishertest.Subject {
			slow := kafka.Config{MaxMessageBytes: 25_000, ClientOptions: []kgo.Opt{kgo.WithHooks(&slowHandOver{})}}
			return subject(t, fake(t).ListenAddrs(), slow, nil)
		})
	})
}

// subject is a publisher without compression, whose topics refuse 27 kB in one way or another.
func subject(
	t *testing.T, brokers []string, config kafka.Config, topic map[string]string,
) publishertest.Subject {
	config.Brokers = brokers
	config.Compression = []kgo.CompressionCodec{kgo.NoCompression()}
	return publishertest.Subject{
		Publisher: open(t, config),
		Topic:     func(t *testing.T) string { return topicAt(t, brokers, 1, topic) },
		Missing:   testservices.Name("missing"),
		Poison:    func(topic string) *outbox.Message { return large(topic, "", 27_000) },
		Read: func(t *testing.T, topic string, n int) []publishertest.Received {
			records := logs(t, config.Brokers, topic)
			if len(records) < n {
				t.Fatalf("topic %s holds %d records, want at least %d", topic, len(records), n)
			}
			return receivedAs(t, records)
		},
	}
}

func receivedAs(t *testing.T, records []*kgo.Record) []publishertest.Received {
	t.Helper()
	var all []publishertest.Received
	for _, r := range records {
		one := publishertest.Received{Payload: r.Value, Headers: make(map[string]string)}
		for _, h := range r.Headers {
			one.Headers[h.Key] = string(h.Value)
		}
		id, err := uuid.Parse(one.Headers[outbox.HeaderID])
		if err != nil {
			t.Fatalf("read the id of a record: %v", err)
		}
		one.ID = id
		all = append(all, one)
	}
	return all
}
