package docs_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/glebarez/sqlite"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// OrderPlaced is what happened to an order.
type OrderPlaced struct {
	OrderID  uuid.UUID `json:"order_id"`
	Customer string    `json:"-"`
}

func newRegistry() (*outbox.Registry, error) {
	return outbox.NewRegistry(outbox.Event[OrderPlaced]{
		Type: "OrderPlaced", Topic: "orders", Key: func(e OrderPlaced) string { return e.Customer },
	})
}

func orderPlaced(o Order) *outbox.Message {
	return &outbox.Message{Topic: "orders", Key: o.Customer, Type: "OrderPlaced", Payload: []byte("{}")}
}

func closure(ctx context.Context, store *gormstore.Store, order Order) error {
	return store.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		return tx.Enqueue(ctx, orderPlaced(order))
	})
}

func ownTransaction(ctx context.Context, db *gorm.DB, store *gormstore.Store, order Order) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		return store.In(tx).Enqueue(ctx, orderPlaced(order))
	})
}

func modelEvents(tx *gormstore.Tx, order Order) error {
	order.Raise(OrderPlaced{OrderID: order.ID, Customer: order.Customer}) // Order embeds gormstore.Events
	return tx.Create(&order).Error
}

func request(r chi.Router, store *gormstore.Store, order Order) {
	r.Use(middleware.Idempotency(store, middleware.IdempotencyConfig{}))
	r.Use(middleware.Transaction(store, middleware.TransactionConfig{}))
	r.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
		err := store.Enqueue(r.Context(), orderPlaced(order)) // or store.FromContext(r.Context())
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
}

func eventBus(tx *gormstore.Tx, store *gormstore.Store, registry *outbox.Registry, order Order) error {
	publisher := watermilladapter.NewPublisher(store, watermilladapter.PublisherConfig{})
	bus, err := cqrs.NewEventBusWithConfig(publisher, watermilladapter.EventBusConfig(registry))
	if err != nil {
		return err
	}
	return bus.Publish(tx.Context(), OrderPlaced{OrderID: order.ID, Customer: order.Customer})
}

// TestWays: each of the five ways stores one message that says the same.
func TestWays(t *testing.T) {
	t.Parallel()
	registry, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	inTx := func(t *testing.T, store *gormstore.Store, fn func(tx *gormstore.Tx) error) error {
		t.Helper()
		return store.Transaction(t.Context(), fn)
	}
	for name, capture := range map[string]func(t *testing.T, db *gorm.DB, store *gormstore.Store, o Order) error{
		"closure": func(t *testing.T, _ *gorm.DB, store *gormstore.Store, o Order) error {
			return closure(t.Context(), store, o)
		},
		"transaction_of_ones_own": func(t *testing.T, db *gorm.DB, store *gormstore.Store, o Order) error {
			return ownTransaction(t.Context(), db, store, o)
		},
		"events_of_a_model": func(t *testing.T, _ *gorm.DB, store *gormstore.Store, o Order) error {
			return inTx(t, store, func(tx *gormstore.Tx) error { return modelEvents(tx, o) })
		},
		"request": func(t *testing.T, _ *gorm.DB, store *gormstore.Store, o Order) error {
			r := chi.NewRouter()
			request(r, store, o)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders", nil))
			if w.Code != http.StatusOK {
				return errors.New(w.Body.String())
			}
			return nil
		},
		"event_bus": func(t *testing.T, _ *gorm.DB, store *gormstore.Store, o Order) error {
			return inTx(t, store, func(tx *gormstore.Tx) error { return eventBus(tx, store, registry, o) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openShop(t)
			store, err := gormstore.Open(db, gormstore.Config{Registry: registry})
			if err != nil {
				t.Fatal(err)
			}
			if err := capture(t, db, store, Order{ID: uuid.New(), Customer: "c-1"}); err != nil {
				t.Fatal(err)
			}
			var stored []struct{ Topic, Key, Type string }
			if err := db.Table("outbox_messages").Find(&stored).Error; err != nil {
				t.Fatal(err)
			}
			if len(stored) != 1 || stored[0].Topic != "orders" || stored[0].Key != "c-1" || stored[0].Type != "OrderPlaced" {
				t.Errorf("stored %+v, want one OrderPlaced of c-1", stored)
			}
		})
	}
}

// openShop opens an empty database with the tables of the snippets.
func openShop(t *testing.T) *gorm.DB {
	t.Helper()
	dsn := "file:" + filepath.Join(t.TempDir(), "shop.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)"
	db, err := gorm.Open(sqlite.Open(dsn))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	err = errors.Join(db.AutoMigrate(&Order{}), gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{}))
	if err != nil {
		t.Fatal(err)
	}
	return db
}
