package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	before := leftovers()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	p := &points{}
	go obey(os.Stdin, p)
	err := run(ctx, parse(), p)
	stop()
	signal.Reset() // ends the signal package's own goroutine
	report(before, err)
	if err != nil {
		slog.Error("relay ended", "error", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	name, database, kafka, amqp, via, broken string
	lease, patience                          time.Duration
	batch                                    int
}

func parse() options {
	o := options{}
	flag.StringVar(&o.name, "name", "", "label of the relay")
	flag.StringVar(&o.database, "database", "", "address of PostgreSQL")
	flag.StringVar(&o.kafka, "kafka", "", "Kafka's brokers, separated by commas")
	flag.StringVar(&o.amqp, "amqp", "", "RabbitMQ's nodes, separated by commas")
	flag.StringVar(&o.via, "via", "", "proxies on the way to Kafka's brokers, as BROKER=PROXY,…")
	flag.StringVar(&o.broken, "break", "", "a guard to remove: "+brokenClaim+" or "+brokenConfirm)
	flag.DurationVar(&o.lease, "lease", 2*time.Second, "lease of the lanes")
	flag.DurationVar(&o.patience, "patience", 4*time.Second, "how long to wait for the broker's word")
	flag.IntVar(&o.batch, "batch", 100, "messages of a claim")
	flag.Parse()
	return o
}

// maxConnections is the size of a relay's pool.
const maxConnections = 8

// run relays until ctx ends.
func run(ctx context.Context, o options, p *points) (err error) {
	if !slices.Contains([]string{"", brokenClaim, brokenConfirm}, o.broken) {
		return fmt.Errorf("there is no guard %q to remove", o.broken)
	}
	db, err := gorm.Open(postgres.Open(o.database), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	defer func() { err = errors.Join(err, pool.Close()) }()
	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		return err
	}
	publisher, err := openPublisher(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, publisher.Close()) }()
	relay, err := outbox.NewRelay(storeOf(o, store, db, p), publisherOf(o, publisher, p), outbox.RelayConfig{
		ID: o.name, Workers: 2, Batch: o.batch, Lease: o.lease, Poll: 200 * time.Millisecond, StopTimeout: 20 * time.Second,
		Policy: outbox.Policy{MaxAttempts: 5, MinBackoff: 50 * time.Millisecond, MaxBackoff: 2 * time.Second},
	})
	if err != nil {
		return err
	}
	tell(event{Event: "ready"})
	return relay.Run(ctx)
}

// event is a line of standard output.
type event struct {
	Event      string   `json:"event"`
	Point      string   `json:"point,omitempty"`
	Error      string   `json:"error,omitempty"`
	Goroutines string   `json:"goroutines,omitempty"` // that are left
	Files      []string `json:"files,omitempty"`      // that are left, and sockets
}

func tell(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}
