package gormstore_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/outbox"
)

// handles are the ways in which an application may set up GORM.
var handles = map[string]struct {
	config     gorm.Config
	autocommit error                           // of a model that raises events, outside of a transaction
	before     func(t *testing.T, db *gorm.DB) // the store is opened
	after      func(t *testing.T, db *gorm.DB)
	handle     func(db *gorm.DB) *gorm.DB // that the application uses
}{
	"plain":       {},
	"PrepareStmt": {config: gorm.Config{PrepareStmt: true}},
	"session_PrepareStmt": {handle: func(db *gorm.DB) *gorm.DB {
		return db.Session(&gorm.Session{PrepareStmt: true})
	}},
	"SkipDefaultTransaction": {
		config: gorm.Config{SkipDefaultTransaction: true}, autocommit: outbox.ErrNoTransaction,
	},
	"dbresolver":                  {after: resolve},
	"dbresolver_before_the_store": {before: resolve, autocommit: gormstore.ErrNoHook},
}

// resolve lets GORM read elsewhere.
func resolve(t *testing.T, db *gorm.DB) {
	t.Helper()
	if err := db.Use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{db.Dialector}})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := dbresolverOf(db).Call(func(pool gorm.ConnPool) error {
			if c, ok := pool.(io.Closer); ok {
				return c.Close()
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// paths are the ways in which a message is captured. Each writes one product, whose capture makes a message, and at
// most one message beside it, and then ends as it is told.
var paths = map[string]struct {
	messages int
	run      func(f *fixture, db *gorm.DB, end error) error
}{
	"closure": {2, func(f *fixture, _ *gorm.DB, end error) error {
		return f.store.Transaction(f.Context(), func(tx *gormstore.Tx) error {
			return errors.Join(tx.Create(&product{Name: "p"}).Error, tx.Enqueue(f.Context(), message("k")), end)
		})
	}},
	"context": {2, func(f *fixture, _ *gorm.DB, end error) error {
		return f.store.InTransaction(f.Context(), func(ctx context.Context) error {
			return f.store.InTransaction(ctx, func(ctx context.Context) error {
				tx, _ := f.store.FromContext(ctx)
				return errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.Enqueue(ctx, message("k")), end)
			})
		})
	}},
	"own_transaction": {2, func(f *fixture, db *gorm.DB, end error) error {
		return db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.In(tx).Enqueue(f.Context(), message("k")), end)
		})
	}},
	"begun_by_hand": {2, func(f *fixture, db *gorm.DB, end error) error {
		tx := db.Begin()
		err := errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.In(tx).Enqueue(f.Context(), message("k")), end)
		if err != nil {
			return errors.Join(err, tx.Rollback().Error)
		}
		return tx.Commit().Error
	}},
	"savepoint": {2, func(f *fixture, db *gorm.DB, end error) error {
		return db.Transaction(func(tx *gorm.DB) error {
			lost := tx.Transaction(func(tx *gorm.DB) error {
				return errors.Join(tx.Create(&product{Name: "q"}).Error, f.store.In(tx).Enqueue(f.Context(), message("q")), errUndo)
			})
			if !errors.Is(lost, errUndo) {
				return lost
			}
			return tx.Transaction(func(tx *gorm.DB) error {
				return errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.In(tx).Enqueue(f.Context(), message("k")), end)
			})
		})
	}},
	"raised": {2, func(f *fixture, db *gorm.DB, end error) error {
		a := raising("raised", "k")
		return db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&product{Name: "p"}).Error, tx.Save(a).Error, tx.Save(a).Error, end)
		})
	}},
	"captured_update_and_delete": {3, func(_ *fixture, db *gorm.DB, end error) error {
		return db.Transaction(func(tx *gorm.DB) error {
			p := &product{Name: "p"}
			return errors.Join(tx.Create(p).Error, tx.Model(&product{}).Where("name = ?", "p").Update("price", 7).Error,
				tx.Delete(p).Error, end)
		})
	}},
	"generics": {1, func(f *fixture, db *gorm.DB, end error) error {
		return db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(gorm.G[product](tx).Create(f.Context(), &product{Name: "p"}), end)
		})
	}},
	"inbox": {2, func(f *fixture, _ *gorm.DB, end error) error {
		_, err := f.store.Once(f.Context(), "handler", "m-1", func(ctx context.Context) error {
			tx, _ := f.store.FromContext(ctx)
			return errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.Enqueue(ctx, message("k")), end)
		})
		return err
	}},
	"request": {2, func(f *fixture, _ *gorm.DB, end error) error { return f.request(end) }},
}

// request runs once under an idempotency key, and rolls back by its status.
func (f *fixture) request(end error) error {
	quiet := slog.New(slog.DiscardHandler)
	h := middleware.Idempotency(f.store, middleware.IdempotencyConfig{Logger: quiet})(
		middleware.Transaction(f.store, middleware.TransactionConfig{Logger: quiet})(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tx, _ := f.store.FromContext(r.Context())
				err := errors.Join(tx.Create(&product{Name: "p"}).Error, f.store.Enqueue(r.Context(), message("k")), end)
				if err != nil {
					http.Error(w, err.Error(), http.StatusTeapot)
				}
			})))
	for range 2 {
		r := httptest.NewRequestWithContext(f.Context(), http.MethodPost, "/orders", strings.NewReader("{}"))
		r.Header.Set("Idempotency-Key", "k-1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusTeapot && end != nil:
			return end
		case w.Code != http.StatusOK:
			return errors.New(w.Body.String())
		}
	}
	return nil
}

// TestMatrix: every path captures on every handle of every database; what commits is there and announced, what does
// not is nowhere.
func TestMatrix(t *testing.T) {
	for database, open := range withTimes() {
		for name, h := range handles {
			t.Run(database+"/"+name, func(t *testing.T) {
				t.Parallel()
				db := open(t, h.config)
				if h.before != nil {
					h.before(t, db)
				}
				f := newCapturing(t, db)
				if h.after != nil {
					h.after(t, db)
				}
				if err := db.AutoMigrate(&article{}, &note{}); err != nil {
					t.Fatal(err)
				}
				app := db
				if h.handle != nil {
					app = h.handle(db)
				}
				woken := f.store.Wake(t.Context())
				for path, p := range paths {
					t.Run(path, func(t *testing.T) { f.takes(t, app, p.messages, p.run, woken) })
				}
				t.Run("autocommit", func(t *testing.T) { f.autocommits(t, app, h.autocommit) })
			})
		}
	}
}

// autocommits checks a statement in GORM's own transaction, which is want if it cannot be captured.
func (f *fixture) autocommits(t *testing.T, app *gorm.DB, want error) {
	t.Helper()
	a := raising("autocommit", "k")
	err := app.Create(a).Error
	articles, messages := 1, 1
	if want != nil {
		articles, messages = 0, 0
	}
	if !errors.Is(err, want) || f.count("articles") != articles+1 || f.count("outbox_messages") != messages {
		t.Errorf("got %v, want %v, with %d articles and %d messages",
			err, want, f.count("articles")-1, f.count("outbox_messages"))
	}
}

// takes holds a path against what it has to store, first when it rolls back.
func (f *fixture) takes(
	t *testing.T, app *gorm.DB, messages int, run func(*fixture, *gorm.DB, error) error, woken <-chan []int,
) {
	t.Helper()
	g := &fixture{TB: t, db: f.db, store: f.store}
	count := func() [2]int {
		var products int64
		if err := f.db.Unscoped().Model(&product{}).Count(&products).Error; err != nil {
			t.Fatal(err)
		}
		return [2]int{int(products), g.count("outbox_messages")}
	}
	if err := run(g, app, errUndo); !errors.Is(err, errUndo) {
		t.Errorf("rolled back: got %v", err)
	}
	if got := count(); got != [2]int{} {
		t.Errorf("%d rows and %d messages of a rollback", got[0], got[1])
	}
	if err := run(g, app, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := count(), [2]int{1, messages}; got != want {
		t.Errorf("%d rows and %d messages, want %d and %d", got[0], got[1], want[0], want[1])
	}
	g.woken(woken)
	exec(t, f.db, "DELETE FROM products")
	g.forgetMessages()
}
