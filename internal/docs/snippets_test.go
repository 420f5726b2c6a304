package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/outbox"
)

type Order struct {
	gormstore.Events
	ID       uuid.UUID `gorm:"type:uuid;primaryKey"`
	Customer string
}

func newRouter(store *gormstore.Store) http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Transaction(store, middleware.TransactionConfig{})) // answers after the commit
	r.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
		tx, _ := store.FromContext(r.Context()) // GORM's own handle, and Enqueue
		order := Order{ID: uuid.New(), Customer: r.FormValue("customer")}
		body, _ := json.Marshal(order)
		err := tx.Create(&order).Error
		if err == nil {
			err = tx.Enqueue(r.Context(), &outbox.Message{
				Topic: "orders", Key: order.Customer, Type: "OrderPlaced", ContentType: "application/json", Payload: body,
			})
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError) // rolls back
			return
		}
		w.WriteHeader(http.StatusCreated) // commits
	})
	return r
}

func openStore(ctx context.Context, db *gorm.DB) (*gormstore.Store, error) {
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{}); err != nil {
		return nil, err
	}
	return gormstore.Open(db, gormstore.Config{}) // once: handlers and relay share the store
}

func relay(ctx context.Context, store *gormstore.Store, brokers []string) error {
	publisher, err := kafka.Open(kafka.Config{Brokers: brokers})
	if err != nil {
		return err
	}
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
	if err != nil {
		return err
	}
	return errors.Join(relay.Run(ctx), publisher.Close()) // until ctx ends and the batch in hand is settled
}

func serve(ctx context.Context, db *gorm.DB, listener net.Listener, brokers []string) error {
	store, err := openStore(ctx, db)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{Handler: newRouter(store), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(relay(ctx, store, brokers), server.Shutdown(context.WithoutCancel(ctx))) }()
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return <-ended // after a signal, or because the relay failed
	}
	stop()
	return errors.Join(err, <-ended)
}

// What README and quick start show has to work as it is shown, all of it together.
func TestSnippets(t *testing.T) {
	t.Parallel()
	const topic, partitions = "orders", 1
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	db := openShop(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, db, listener, cluster.ListenAddrs()) }()

	place(t, "http://"+listener.Addr().String()+"/orders", "customer=c-1")
	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	for _, r := range consumer.PollFetches(ctx).Records() {
		if got := string(r.Key); got != "c-1" {
			t.Errorf("got the key %q, want that of the order", got)
		}
	}
	if ctx.Err() != nil {
		t.Error("no message arrived")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var orders int64
	if err := db.Model(&Order{}).Count(&orders).Error; err != nil || orders != 1 {
		t.Errorf("got %d orders, %v; want one", orders, err)
	}
}

// place posts an order, and wants it to be created.
func place(t *testing.T, url, form string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Errorf("POST %s: got %d, want 201", url, answer.StatusCode)
	}
}
