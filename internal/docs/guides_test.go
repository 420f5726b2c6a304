package docs_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/outbox"
)

// What the guides show and no test of another package has. It is compiled here, and TestGuides runs what needs no
// broker.

func streamsAside(store *gormstore.Store) func(http.Handler) http.Handler {
	return middleware.Transaction(store, middleware.TransactionConfig{
		Skip: func(r *http.Request) bool { // answered at once, and without a transaction
			return r.Method == http.MethodGet || path.Base(r.URL.Path) == "events"
		},
		Commit: func(_ *http.Request, status int) bool { // a refusal that is recorded commits
			return status < http.StatusBadRequest || status == http.StatusPaymentRequired
		},
	})
}

func deepInTheCode(ctx context.Context, store *gormstore.Store, order Order) error {
	tx, ok := store.FromContext(ctx)
	if !ok {
		return outbox.ErrNoTransaction
	}
	if err := tx.Create(&order).Error; err != nil {
		return err
	}
	return tx.Enqueue(ctx, orderPlaced(order))
}

func lockFirst(ctx context.Context, store *gormstore.Store, id uuid.UUID) error {
	return store.Transaction(ctx, func(tx *gormstore.Tx) error {
		var order Order
		locked := tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&order, "id = ?", id)
		if locked.Error != nil {
			return locked.Error
		}
		return tx.Enqueue(ctx, orderPlaced(order))
	})
}

func afterTheCommit(ctx context.Context, store *gormstore.Store, order Order, cache map[uuid.UUID]Order) error {
	return store.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.OnCommit(func() { cache[order.ID] = order }); err != nil {
			return err
		}
		return errors.Join(tx.Create(&order).Error, tx.Enqueue(ctx, orderPlaced(order)))
	})
}

func checkTopics(ctx context.Context, publisher *kafka.Publisher) error {
	warnings, err := publisher.Check(ctx, "orders", "payments")
	for _, w := range warnings {
		slog.Warn("a message may be lost or refused", "what", w)
	}
	return err // names each topic that is missing
}

func checkExchanges(ctx context.Context, publisher *amqp.Publisher) error {
	warnings, err := publisher.Check(ctx, "orders", "payments")
	for _, w := range warnings {
		slog.Warn("a message may be lost", "what", w)
	}
	return err // names each exchange that is missing
}

func TestGuides(t *testing.T) {
	t.Parallel()
	cache := map[uuid.UUID]Order{}
	for name, capture := range map[string]func(db *gorm.DB, store *gormstore.Store, o Order) error{
		"deep_in_the_code": func(_ *gorm.DB, store *gormstore.Store, o Order) error {
			return store.InTransaction(t.Context(), func(ctx context.Context) error { return deepInTheCode(ctx, store, o) })
		},
		"after_the_commit": func(_ *gorm.DB, store *gormstore.Store, o Order) error {
			return errors.Join(afterTheCommit(t.Context(), store, o, cache), found(cache[o.ID].Customer == o.Customer))
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openShop(t)
			store, err := gormstore.Open(db, gormstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := capture(db, store, Order{ID: uuid.New(), Customer: "c-1"}); err != nil {
				t.Fatal(err)
			}
			var stored int64
			if err := db.Table("outbox_messages").Count(&stored).Error; err != nil || stored != 1 {
				t.Errorf("stored %d messages, %v; want one", stored, err)
			}
		})
	}
	chi.NewRouter().Use(streamsAside(nil))
	_, _, _ = lockFirst, checkTopics, checkExchanges // servers of their own: internal/e2e, gormstore, kafka and amqp
}

func found(ok bool) error {
	if !ok {
		return errors.New("not found")
	}
	return nil
}
