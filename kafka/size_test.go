package kafka

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// encoded returns the record of one message.
func encoded(m *outbox.Message) *kgo.Record {
	records, _ := encode(cloudevents.Config{}, m)
	return records[0]
}

// The client must never refuse a record for its size that this package let pass: it would refuse that one alone.
func TestSize(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "sizes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	const limit = 1024
	config := Config{Brokers: cluster.ListenAddrs(), MaxMessageBytes: limit}.withDefaults()
	client, err := kgo.NewClient(config.options()...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send := func(r *kgo.Record) error {
		f := newFlight([]*kgo.Record{r})
		client.Produce(ctx, r, func(_ *kgo.Record, err error) { f.land(0, err) })
		if err := client.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		return f.answers(nil)[0]
	}

	highest := 0
	for payload := range limit {
		r := encoded(&outbox.Message{Topic: "sizes", Key: "key", Type: "T", Payload: bytes.Repeat([]byte("x"), payload)})
		size, fits := batchOverhead+sizeInBatch(r), true
		if err := send(r); err != nil {
			fits = false
			if !errors.Is(err, kerr.MessageTooLarge) {
				t.Fatalf("payload of %d bytes: %v", payload, err)
			}
		}
		switch {
		case size <= limit && !fits:
			t.Fatalf("a record of %d bytes passes the check and the client refuses it", size)
		case size > limit+4 && fits:
			t.Fatalf("a record of %d bytes fits and is refused", size)
		case fits:
			highest = size
		}
	}
	if highest < limit-1 {
		t.Errorf("the largest record that fits has %d bytes of %d", highest, limit)
	}
}
