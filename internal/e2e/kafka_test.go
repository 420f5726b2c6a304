package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

type kafkaCluster struct{ seeds []string }

func sharedKafka(t *testing.T) broker {
	t.Helper()
	return kafkaCluster{testservices.Kafka(t)}
}

// inProcessKafka is the one that the shop has when it is given none.
func inProcessKafka(t *testing.T) broker {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	must(t, err)
	t.Cleanup(cluster.Close)
	return kafkaCluster{cluster.ListenAddrs()}
}

func (k kafkaCluster) url() string { return "kafka://" + strings.Join(k.seeds, ",") }

func (k kafkaCluster) namesMessages() bool { return false }

// client ends with the test.
func (k kafkaCluster) client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(k.seeds...))...)
	must(t, err)
	t.Cleanup(client.Close)
	return client
}

func (k kafkaCluster) declare(t *testing.T, topic string) {
	t.Helper()
	admin := kadm.NewClient(k.client(t))
	testtopic.Create(t, admin, topic, 4, nil)
	t.Cleanup(func() {
		_, err := admin.DeleteGroup(within(t), topic+"-shipping")
		if !errors.Is(err, kerr.GroupIDNotFound) {
			drop(t, "consumer group of "+topic, err)
		}
	})
}

func (k kafkaCluster) publisher(t *testing.T) outbox.Publisher {
	t.Helper()
	publisher, err := kafka.Open(kafka.Config{Brokers: k.seeds})
	must(t, err)
	t.Cleanup(func() { drop(t, "publisher", publisher.Close()) })
	return publisher
}

func (k kafkaCluster) record(t *testing.T, topic string) *recorder {
	t.Helper()
	client := k.client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	read := &offsets{next: map[int32]int64{}}
	rec := &recorder{end: func(ctx context.Context) error { return read.untilEnd(ctx, kadm.NewClient(client), topic) }}
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				rec.add(delivery{
					id: header(r, outbox.HeaderID), kind: header(r, outbox.HeaderType), trace: header(r, "traceparent"),
				}, r.Value)
				read.pass(r)
			})
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return rec
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// offsets is how far each partition was read.
type offsets struct {
	mu   sync.Mutex
	next map[int32]int64
}

func (o *offsets) pass(r *kgo.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next[r.Partition] = r.Offset + 1
}

// untilEnd waits until all is read that the topic holds at the time of the call.
func (o *offsets) untilEnd(ctx context.Context, admin *kadm.Client, topic string) error {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		unread := o.unread(ends)
		if unread == "" {
			return ends.Error()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("unread: %s: %w", unread, ctx.Err())
		}
	}
}

func (o *offsets) unread(ends kadm.ListedOffsets) (unread string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ends.Each(func(end kadm.ListedOffset) {
		if next := o.next[end.Partition]; next < end.Offset {
			unread = fmt.Sprintf("partition %d at %d of %d", end.Partition, next, end.Offset)
		}
	})
	return unread
}
