package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
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

func relay(ctx context.Context, db *gorm.DB) error {
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{}); err != nil {
		return err
	}
	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		return err
	}
	publisher, err := kafka.Open(kafka.Config{Brokers: []string{"localhost:9092"}})
	if err != nil {
		return err
	}
	relay, err := outbox.NewRelay(store, publisher, outbox.RelayConfig{})
	if err != nil {
		return err
	}
	return errors.Join(relay.Run(ctx), publisher.Close()) // until ctx ends and the batch in hand is settled
}

// What the README shows has to work as it is shown.
func TestSnippets(t *testing.T) {
	t.Parallel()
	db := openShop(t)
	store, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", strings.NewReader("customer=c-1"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	newRouter(store).ServeHTTP(answer, request)
	if answer.Code != http.StatusCreated {
		t.Errorf("POST /orders: got %d, want 201", answer.Code)
	}
	var orders, messages int64
	err = errors.Join(db.Model(&Order{}).Count(&orders).Error, db.Table("outbox_messages").Count(&messages).Error)
	if err != nil {
		t.Fatal(err)
	}
	if orders != 1 || messages != 1 {
		t.Errorf("got %d orders and %d messages, want one of each", orders, messages)
	}
	_ = relay // compiled here; a relay on real brokers is what internal/e2e tests
}
