package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const kafkaPatience = 10 * time.Second // with brokers that do not answer, or not yet

// kafkaReader reads the partitions of a topic, in no consumer group.
type kafkaReader struct {
	v      *verification
	client *kgo.Client
	admin  *kadm.Client
	next   map[int32]int64 // the offset to read next, by partition

	patience time.Duration // with a topic whose rest does not come
}

func openKafka(ctx context.Context, v *verification) (reader, error) {
	options, err := v.place.kafka.Reading()
	if err != nil {
		return nil, usageError{err}
	}
	client, err := kgo.NewClient(append(options, kgo.ClientID("postroom-verify"),
		kgo.KeepControlRecords(), // so that the end of a partition is read in any case
		kgo.RetryTimeout(kafkaPatience))...)
	if err != nil {
		return nil, fmt.Errorf("connect to Kafka: %w", err)
	}
	r := &kafkaReader{
		v: v, client: client, admin: kadm.NewClient(client), next: map[int32]int64{}, patience: 3 * kafkaPatience,
	}
	if err := r.start(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("read topic %q of Kafka: %w", v.topic, err)
	}
	return r, nil
}

// start finds where to begin in each partition.
func (r *kafkaReader) start(ctx context.Context) error {
	starts, err := list(ctx, func() (kadm.ListedOffsets, error) { return r.admin.ListStartOffsets(ctx, r.v.topic) })
	if err != nil {
		return err
	}
	from := time.Now().Add(-r.v.since - r.v.slack).UnixMilli()
	begins, err := list(ctx, func() (kadm.ListedOffsets, error) {
		return r.admin.ListOffsetsAfterMilli(ctx, from, r.v.topic)
	})
	if err != nil {
		return err
	}
	offsets := map[int32]kgo.Offset{}
	begins.Each(func(o kadm.ListedOffset) {
		first, _ := starts.Lookup(o.Topic, o.Partition)
		if first.Offset > 0 && o.Offset == first.Offset {
			r.v.note("partition %d of %q has nothing older than what is looked at: what retention removed counts as missing",
				o.Partition, o.Topic)
		}
		r.next[o.Partition] = o.Offset
		offsets[o.Partition] = kgo.NewOffset().At(o.Offset)
	})
	r.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.v.topic: offsets})
	return r.noteCompaction(ctx)
}

// list asks again for a while when a partition has no leader, or a new one.
func list(ctx context.Context, ask func() (kadm.ListedOffsets, error)) (kadm.ListedOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	tick := time.NewTicker(kafkaPatience / 50)
	defer tick.Stop()
	for {
		offsets, err := ask()
		if err == nil {
			err = offsets.Error()
		}
		if err == nil || !kerr.IsRetriable(err) || errors.Is(err, kerr.UnknownTopicOrPartition) {
			return offsets, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// noteCompaction says that the broker itself drops messages. Who may not read a topic's settings does without.
func (r *kafkaReader) noteCompaction(ctx context.Context) error {
	described, err := r.admin.DescribeTopicConfigs(ctx, r.v.topic)
	if err != nil {
		return err
	}
	for _, topic := range described {
		for _, c := range topic.Configs {
			if c.Key == "cleanup.policy" && c.Value != nil && strings.Contains(*c.Value, "compact") {
				r.v.note("topic %q is compacted: messages that a later one of their key replaced count as missing", r.v.topic)
			}
		}
	}
	return nil
}

func (r *kafkaReader) follow(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		fetches := r.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return r.take(fetches) // what came with the end of the time
		}
		if err := r.take(fetches); err != nil {
			return err
		}
	}
}

func (r *kafkaReader) finish(ctx context.Context) error {
	ends, err := list(ctx, func() (kadm.ListedOffsets, error) { return r.admin.ListEndOffsets(ctx, r.v.topic) })
	if err != nil {
		return fmt.Errorf("find the end of topic %q of Kafka: %w", r.v.topic, err)
	}
	for r.behind(ends) {
		if err := r.more(ctx); err != nil {
			return err
		}
	}
	return nil
}

// more takes the next records, and gives up when none come for long: the client itself never does.
func (r *kafkaReader) more(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	fetches := r.client.PollFetches(bounded)
	if bounded.Err() != nil && fetches.NumRecords() == 0 {
		return fmt.Errorf("read topic %q of Kafka: nothing came for %v, and this is not its end: start again",
			r.v.topic, r.patience)
	}
	return r.take(fetches)
}

func (r *kafkaReader) behind(ends kadm.ListedOffsets) (behind bool) {
	ends.Each(func(o kadm.ListedOffset) { behind = behind || r.next[o.Partition] < o.Offset })
	return behind
}

func (r *kafkaReader) take(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if e.Partition >= 0 { // others are of the context, or of fetches that are tried again
			return fmt.Errorf("read partition %d of topic %q of Kafka: %w", e.Partition, e.Topic, e.Err)
		}
	}
	for iter := fetches.RecordIter(); !iter.Done(); {
		record := iter.Next()
		r.next[record.Partition] = record.Offset + 1
		if record.Attrs.IsControl() {
			continue
		}
		if err := r.v.arrived(arrivalOf(record)); err != nil {
			return err
		}
	}
	return nil
}

func arrivalOf(r *kgo.Record) arrival {
	return arrival{
		stream: fmt.Sprintf("%s/%d", r.Topic, r.Partition), offset: r.Offset, at: r.Timestamp, key: string(r.Key),
		keyless: len(r.Key) == 0,
		headers: func(name string) string {
			for _, h := range r.Headers {
				if h.Key == name {
					return string(h.Value)
				}
			}
			return ""
		},
	}
}

func (r *kafkaReader) close() { r.client.Close() }
