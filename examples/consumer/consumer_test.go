package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"

	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

const patience = 30 * time.Second

func TestConsumer(t *testing.T) {
	t.Parallel()
	t.Run("bills_each_order_once_however_often_it_comes_and_announces_each_invoice_once", func(t *testing.T) {
		t.Parallel()
		const orders = 20
		cluster := newCluster(t)
		db := open(t, filepath.Join(t.TempDir(), "billing.db"))
		store, err := openStore(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		placed := make([]*outbox.Message, orders)
		for n := range placed {
			placed[n] = orderPlaced(n)
		}
		send(t, cluster, placed...)
		send(t, cluster, placed...)

		stop := start(t, func(ctx context.Context) error { return serve(ctx, store, cluster.ListenAddrs()) })
		waitForInvoices(t, db, orders)
		stop()

		last := orderPlaced(orders)
		send(t, cluster, append(placed, last)...) // whatever comes before it has come by the time that this is billed
		stop = start(t, func(ctx context.Context) error { return serve(ctx, store, cluster.ListenAddrs()) })
		waitForInvoices(t, db, orders+1)
		announced := read(t, cluster, "invoices", orders+1)
		stop()
		if n := countInvoices(t, db); n != orders+1 || len(announced) != orders+1 {
			t.Errorf("got %d invoices and announced %d, want %d of each", n, len(announced), orders+1)
		}
	})
	t.Run("leaves_no_invoice_of_an_order_whose_event_it_cannot_store", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "billing.db"))
		store, err := openStore(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		customer := strings.Repeat("c", outbox.MaxKey+1) // too long for a key
		id := uuid.NewString()
		_, err = store.Once(t.Context(), handler, id, func(ctx context.Context) error {
			return consumer{store: store}.bill(ctx, order{ID: "o-1", Customer: customer, Cents: 1})
		})
		if err == nil || countInvoices(t, db) != 0 {
			t.Errorf("got %v and %d invoices, want an error and none", err, countInvoices(t, db))
		}
	})
	t.Run("drops_what_is_no_order_or_has_no_id", func(t *testing.T) {
		t.Parallel()
		store, err := openStore(t.Context(), open(t, filepath.Join(t.TempDir(), "billing.db")))
		if err != nil {
			t.Fatal(err)
		}
		placed := kgo.RecordHeader{Key: outbox.HeaderType, Value: []byte("OrderPlaced")}
		id := kgo.RecordHeader{Key: outbox.HeaderID, Value: []byte(uuid.NewString())}
		for _, record := range []*kgo.Record{
			{Value: []byte("{"), Headers: []kgo.RecordHeader{placed, id}},
			{Value: []byte(`{"id":"o-1"}`), Headers: []kgo.RecordHeader{placed}},
		} {
			if err := (consumer{store: store}).handle(t.Context(), record); err != nil {
				t.Errorf("%s would come again for ever: %v", record.Value, err)
			}
		}
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("works_without_any_configuration", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "billing.db")
		getenv := func(name string) string { return map[string]string{"DATABASE_FILE": file}[name] }
		db := open(t, file)
		if err := db.AutoMigrate(&Invoice{}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, func(ctx context.Context) error { return run(ctx, getenv, io.Discard) })
		waitForInvoices(t, db, 3)
		stop()
	})
}

func newCluster(t *testing.T) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders", "invoices"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func open(t *testing.T, file string) *gorm.DB {
	t.Helper()
	db, err := openDatabase(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeDatabase(db); err != nil {
			t.Error(err)
		}
	})
	return db
}

func orderPlaced(n int) *outbox.Message {
	return &outbox.Message{
		ID: uuid.New(), Topic: "orders", Key: "c-1", Type: "OrderPlaced", Version: 1,
		Payload: fmt.Appendf(nil, `{"id":"o-%d","customer":"c-1","total_cents":100}`, n),
	}
}

func send(t *testing.T, cluster *kfake.Cluster, messages ...*outbox.Message) {
	t.Helper()
	publisher, err := kafka.Open(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range publisher.Publish(t.Context(), messages) {
		if !result.Accepted() {
			t.Fatal(result.Err())
		}
	}
	if err := publisher.Close(); err != nil {
		t.Fatal(err)
	}
}

// start runs part of the program and returns what ends it.
func start(t *testing.T, run func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func countInvoices(t *testing.T, db *gorm.DB) int {
	t.Helper()
	var n int64
	if err := db.Model(&Invoice{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func waitForInvoices(t *testing.T, db *gorm.DB, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for countInvoices(t, db) < want {
		select {
		case <-ctx.Done():
			t.Fatalf("got %d invoices, want %d", countInvoices(t, db), want)
		case <-tick.C:
		}
	}
}

// read returns the ids that a topic holds, once it holds at least n records.
func read(t *testing.T, cluster *kfake.Cluster, topic string, n int) map[string]bool {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ids, records := make(map[string]bool), 0
	for records < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %d of %d records of %s: %v", records, n, topic, err)
		}
		for record := range fetches.RecordsAll() {
			ids[header(record, outbox.HeaderID)] = true
			records++
		}
	}
	return ids
}
