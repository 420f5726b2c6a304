package kafka_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

const batch = 500

// BenchmarkPublish compares Publish with a bare client that W goroutines share: the same 500 records of 300
// bytes, synchronous and idempotent, but with none of the rules that keep a key in order. Rounds take
// turns, so that both see the same machine.
func BenchmarkPublish(b *testing.B) {
	brokers := testservices.Kafka(b)
	for _, keys := range []int{1000, 1} {
		for _, workers := range []int{1, 4} {
			b.Run(fmt.Sprintf("keys=%d/W=%d", keys, workers), func(b *testing.B) {
				topic := realTopic(b, 4, nil)
				messages := keyed(topic, keys, batch*workers)
				ours := publisherRound(b, open(b, kafka.Config{Brokers: brokers}))
				bare := bareRound(b, dial(b, brokers, kgo.MaxBufferedRecords(1<<20)))
				ours(messages, workers)
				bare(messages, workers)
				var oursTook, bareTook time.Duration
				b.ReportAllocs()
				for b.Loop() {
					oursTook += ours(messages, workers)
					b.StopTimer()
					bareTook += bare(messages, workers)
					b.StartTimer()
				}
				published := float64(b.N * batch * workers)
				b.ReportMetric(published/oursTook.Seconds(), "msg/s")
				b.ReportMetric(published/bareTook.Seconds(), "bare-msg/s")
				b.ReportMetric(bareTook.Seconds()/oursTook.Seconds(), "ratio")
			})
		}
	}
}

// rounds is how often each worker sends its batch in one round.
const rounds = 10

type round func(messages []*outbox.Message, workers int) time.Duration

func publisherRound(b *testing.B, p *kafka.Publisher) round {
	return sideBySide(func(ctx context.Context, messages []*outbox.Message) {
		wantAllAccepted(b, p.Publish(ctx, messages))
	})
}

func bareRound(b *testing.B, client *kgo.Client) round {
	return sideBySide(func(ctx context.Context, messages []*outbox.Message) {
		records := make([]*kgo.Record, len(messages))
		for i, m := range messages {
			records[i] = &kgo.Record{Topic: m.Topic, Key: []byte(m.Key), Value: m.Payload, Headers: bareHeaders(m)}
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			b.Errorf("produce: %v", err)
		}
	})
}

// bareHeaders makes what Publish sends.
func bareHeaders(m *outbox.Message) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		{Key: outbox.HeaderID, Value: []byte(m.ID.String())},
		{Key: outbox.HeaderType, Value: []byte(m.Type)},
		{Key: outbox.HeaderVersion, Value: []byte("1")},
		{Key: outbox.HeaderContentType, Value: []byte(m.ContentType)},
	}
}

func sideBySide(send func(context.Context, []*outbox.Message)) round {
	return func(messages []*outbox.Message, workers int) time.Duration {
		started := time.Now()
		var work sync.WaitGroup
		for w := range workers {
			work.Go(func() {
				for range rounds {
					send(context.Background(), messages[w*batch:(w+1)*batch])
				}
			})
		}
		work.Wait()
		return time.Since(started) / rounds
	}
}
