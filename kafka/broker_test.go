package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// within returns a context that fails the test's waits instead of hanging them.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// fake starts an in-process cluster of three brokers with topics of four partitions.
func fake(t testing.TB, topics ...string) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(4, topics...))
	if err != nil {
		t.Fatalf("start the in-process cluster: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func open(t testing.TB, config kafka.Config) *kafka.Publisher {
	t.Helper()
	p, err := kafka.Open(config)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// realTopic creates a topic on the real broker and removes it with the test.
func realTopic(t testing.TB, partitions int32, configs map[string]string) string {
	t.Helper()
	return topicAt(t, testservices.Kafka(t), partitions, configs)
}

func topicAt(t testing.TB, brokers []string, partitions int32, configs map[string]string) string {
	t.Helper()
	topic := testservices.Name("kafka")
	values := make(map[string]*string)
	for name, value := range configs {
		values[name] = &value
	}
	testtopic.Create(t, kadm.NewClient(dial(t, brokers)), topic, partitions, values)
	return topic
}

func dial(t testing.TB, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(brokers...))...)
	if err != nil {
		t.Fatalf("connect to %v: %v", brokers, err)
	}
	t.Cleanup(client.Close)
	return client
}

// logs reads everything that topics hold, in the order of each partition.
func logs(t testing.TB, brokers []string, topics ...string) []*kgo.Record {
	t.Helper()
	ctx := within(t, patience)
	client := dial(t, brokers, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topics...)
	if err != nil {
		t.Fatalf("list end offsets: %v", err)
	}
	var want int64
	ends.Each(func(o kadm.ListedOffset) { want += o.Offset })
	var records []*kgo.Record
	for int64(len(records)) < want {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("read %d of %d records: %v", len(records), want, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// message is the n-th message of a key.
func message(topic, key string, n int) *outbox.Message {
	return &outbox.Message{
		ID: uuid.New(), Topic: topic, Key: key, Type: "Counted", Version: 1, ContentType: "text/plain",
		Payload: fmt.Appendf(nil, "%s %d %s", key, n, bytes.Repeat([]byte("x"), 250)),
	}
}

// keyed returns n messages whose keys take turns.
func keyed(topic string, keys, n int) []*outbox.Message {
	messages := make([]*outbox.Message, n)
	for i := range messages {
		messages[i] = message(topic, fmt.Sprintf("key-%d", i%keys), i)
	}
	return messages
}

// large returns a message with a payload of size bytes.
func large(topic, key string, size int) *outbox.Message {
	m := message(topic, key, 0)
	m.Payload = bytes.Repeat([]byte{0xff}, size)
	return m
}

func accepted(results []outbox.Result) int {
	n := 0
	for _, r := range results {
		if r.Accepted() {
			n++
		}
	}
	return n
}

func wantAllAccepted(t testing.TB, results []outbox.Result) {
	t.Helper()
	for i, r := range results {
		if !r.Accepted() {
			t.Fatalf("message %d of %d was not accepted: %v", i, len(results), r.Err())
		}
	}
}

func wantClass(t testing.TB, r outbox.Result, want outbox.Class) {
	t.Helper()
	if r.Accepted() || r.Err() == nil {
		t.Fatalf("result = accepted %v, error %v; want class %s", r.Accepted(), r.Err(), want)
	}
	if got := outbox.ClassOf(r.Err()); got != want {
		t.Errorf("class = %s, want %s (%v)", got, want, r.Err())
	}
}

func wantZero(t testing.TB, r outbox.Result) {
	t.Helper()
	if r != (outbox.Result{}) {
		t.Errorf("result = accepted %v, error %v; want the zero Result", r.Accepted(), r.Err())
	}
}
