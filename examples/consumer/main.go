package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/glebarez/sqlite"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		slog.Error("consumer ended", "error", err)
		os.Exit(1)
	}
}

// run wires the consumer and the relay of its outbox, and returns when ctx has ended and both have stopped.
func run(ctx context.Context, getenv func(string) string, out io.Writer) (err error) {
	brokers := strings.FieldsFunc(getenv("BROKERS"), func(r rune) bool { return r == ',' })
	if len(brokers) == 0 {
		cluster, err := ownKafka(ctx, out)
		if err != nil {
			return err
		}
		defer cluster.Close()
		brokers = cluster.ListenAddrs()
	}
	temp, err := os.MkdirTemp("", "consumer-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	db, err := openDatabase(cmp.Or(getenv("DATABASE_FILE"), filepath.Join(temp, "billing.db")))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDatabase(db)) }()
	store, err := openStore(ctx, db)
	if err != nil {
		return err
	}
	return serve(ctx, store, brokers)
}

func openDatabase(file string) (*gorm.DB, error) {
	const options = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	db, err := gorm.Open(sqlite.Open(file+options), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return db, nil
}

func closeDatabase(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// openStore makes the tables of the service and those of its outbox and inbox, in one database.
func openStore(ctx context.Context, db *gorm.DB) (*gormstore.Store, error) {
	if err := db.WithContext(ctx).AutoMigrate(&Invoice{}); err != nil {
		return nil, fmt.Errorf("make the table of invoices: %w", err)
	}
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{Lanes: 8}); err != nil {
		return nil, err
	}
	return gormstore.Open(db, gormstore.Config{})
}

// serve consumes and relays until ctx ends or one of the two fails.
func serve(ctx context.Context, store *gormstore.Store, brokers []string) (err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return fmt.Errorf("open the consumer: %w", err)
	}
	defer client.Close()
	publisher, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, publisher.Close()) }()
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{Workers: 1}) // SQLite has one writer at a time
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return relay.Run(ctx) })
	parts.Go(func() error { return consumer{client, store}.run(ctx) })
	return parts.Wait()
}

// ownKafka starts a Kafka inside the process with three orders, each of which was sent twice.
func ownKafka(ctx context.Context, out io.Writer) (*kfake.Cluster, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders", "invoices"))
	if err != nil {
		return nil, fmt.Errorf("start a Kafka in the process: %w", err)
	}
	publisher, err := kafka.Open(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		cluster.Close()
		return nil, err
	}
	var messages []*outbox.Message
	for n := range 3 {
		m := &outbox.Message{
			ID: uuid.New(), Topic: "orders", Key: "c-1", Type: "OrderPlaced", Version: 1,
			Payload: fmt.Appendf(nil, `{"id":"o-%d","customer":"c-1","total_cents":%d}`, n+1, 100*(n+1)),
		}
		messages = append(messages, m, m)
	}
	for i, result := range publisher.Publish(ctx, messages) {
		if result.Accepted() {
			fmt.Fprintf(out, "sent %s of %s\n", messages[i].Type, messages[i].Payload)
		} else {
			err = errors.Join(err, result.Err())
		}
	}
	if err = errors.Join(err, publisher.Close()); err != nil {
		cluster.Close()
		return nil, err
	}
	return cluster, nil
}
