package gormstore_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// plainRow is a row of a message's size, as an application would write one.
type plainRow struct {
	ID          uuid.UUID `gorm:"type:uuid;primaryKey"`
	Topic       string
	Key         string
	Type        string
	ContentType string
	Lane        int
	Payload     []byte
	CreatedAt   time.Time
}

// BenchmarkEnqueue measures Enqueue of one message against GORM's Create of a row of that size, in turns, each inside
// a transaction that updates a business row first.
func BenchmarkEnqueue(b *testing.B) {
	f := newFixture(b, openPostgres(b, gorm.Config{}), 64, gormstore.Config{})
	if err := f.db.AutoMigrate(&plainRow{}); err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{300, 1900} {
		payload := bytes.Repeat([]byte("x"), size)
		enqueue := func(tx *gormstore.Tx) error {
			return tx.Enqueue(b.Context(), &outbox.Message{
				Topic: "orders", Key: "customer-1", Type: "order.placed", ContentType: "application/json", Payload: payload,
			})
		}
		create := func(tx *gormstore.Tx) error {
			return tx.Create(&plainRow{
				ID: uuid.Must(uuid.NewV7()), Topic: "orders", Key: "customer-1", Type: "order.placed",
				ContentType: "application/json", Payload: payload,
			}).Error
		}
		b.Run(fmt.Sprintf("of_%d_bytes", size), func(b *testing.B) {
			var took [2][]time.Duration
			for b.Loop() {
				for i, write := range []func(*gormstore.Tx) error{enqueue, create} {
					took[i] = append(took[i], f.timedWrite(write))
				}
			}
			b.ReportMetric(float64(median(took[0]).Microseconds()), "µs/enqueue")
			b.ReportMetric(float64(median(took[1]).Microseconds()), "µs/create")
			b.ReportMetric(float64(median(took[0]))/float64(median(took[1])), "ratio")
		})
	}
}

// BenchmarkEnqueueMany measures a call of many messages.
func BenchmarkEnqueueMany(b *testing.B) {
	f := newFixture(b, openPostgres(b, gorm.Config{}), 64, gormstore.Config{})
	for _, n := range []int{100, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				messages := make([]*outbox.Message, n)
				for i := range messages {
					messages[i] = message(fmt.Sprint("k", i%1000))
					messages[i].Payload = bytes.Repeat([]byte("x"), 300)
				}
				f.store1(messages...)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/message")
		})
	}
}

// timedWrite returns what write takes inside a business transaction.
func (f *fixture) timedWrite(write func(tx *gormstore.Tx) error) (took time.Duration) {
	f.Helper()
	err := f.store.Transaction(f.Context(), func(tx *gormstore.Tx) error {
		if err := tx.Exec("INSERT INTO orders VALUES ('1') ON CONFLICT (id) DO UPDATE SET id = '1'").Error; err != nil {
			return err
		}
		start := time.Now()
		err := write(tx)
		took = time.Since(start)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return took
}

func median(values []time.Duration) time.Duration {
	slices.Sort(values)
	return values[len(values)/2]
}
