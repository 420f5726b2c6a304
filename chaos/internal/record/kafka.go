package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

// Kafka reads topics with their brokers' own offsets and times.
type Kafka struct {
	notebook
	client *kgo.Client
	admin  *kadm.Client
	cancel context.CancelFunc
	done   chan error

	mu   sync.Mutex
	read map[string]map[int32]int64 // the next offset by topic and partition
}

// OpenKafka begins to read.
func OpenKafka(ctx context.Context, brokers []string, history *verify.Writer) (*Kafka, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(Topics()...), kgo.MetadataMaxAge(5*time.Second),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, fmt.Errorf("open the consumer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Kafka{
		notebook: notebook{history: history}, client: client, admin: kadm.NewClient(client), cancel: cancel,
		done: make(chan error, 1), read: map[string]map[int32]int64{},
	}
	go func() { k.done <- k.run(ctx) }()
	return k, nil
}

func (k *Kafka) run(ctx context.Context) error {
	for ctx.Err() == nil {
		fetches := k.client.PollFetches(ctx) // its errors are the broker's, which the client tries again
		var errs []error
		fetches.EachRecord(func(r *kgo.Record) { errs = append(errs, k.take(r)) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kafka) take(r *kgo.Record) error {
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	err := k.note(verify.Record{
		Topic: r.Topic, Key: string(r.Key), Keyless: len(r.Key) == 0,
		Stream: fmt.Sprintf("%s/%d", r.Topic, r.Partition), Offset: r.Offset, At: r.Timestamp,
	}, headers[outbox.HeaderID], headers[outbox.HeaderType], r.Value)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read[r.Topic] == nil {
		k.read[r.Topic] = map[int32]int64{}
	}
	k.read[r.Topic][r.Partition] = r.Offset + 1
	return err
}

// Include starts to read a further topic.
func (k *Kafka) Include(topic string) { k.client.AddConsumeTopics(topic) }

// Drained compares what was read with the ends of all partitions.
func (k *Kafka) Drained(ctx context.Context) (bool, error) {
	ends, err := k.admin.ListEndOffsets(ctx, k.client.GetConsumeTopics()...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return false, fmt.Errorf("list the ends of the partitions: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	drained := true
	ends.Each(func(o kadm.ListedOffset) {
		drained = drained && k.read[o.Topic][o.Partition] >= o.Offset
	})
	return drained, nil
}

// Close ends reading.
func (k *Kafka) Close() error {
	k.cancel()
	err := <-k.done
	k.client.Close()
	return err
}
