package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestEnqueue(t *testing.T) {
	t.Run("refuses_every_place_outside_a_transaction", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			ctx := t.Context()
			var escaped *gormstore.Tx
			var after context.Context
			err := f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
				escaped, after = tx, tx.Context()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]struct {
				err  error
				want error
			}{
				"plain context":      {f.store.Enqueue(ctx, message("1")), outbox.ErrNoTransaction},
				"plain handle":       {f.store.In(f.db).Enqueue(ctx, message("1")), outbox.ErrNoTransaction},
				"no handle":          {f.store.In(nil).Enqueue(ctx, message("1")), outbox.ErrNoTransaction},
				"finished handle":    {escaped.Enqueue(ctx, message("1")), outbox.ErrTransactionDone},
				"finished context":   {f.store.Enqueue(after, message("1")), outbox.ErrTransactionDone},
				"nothing to enqueue": {f.store.Enqueue(ctx), outbox.ErrNoTransaction},
				"joining a finished one": {
					f.store.InTransaction(after, func(context.Context) error { return nil }),
					outbox.ErrTransactionDone,
				},
				"hook of a finished one": {escaped.OnCommit(func() {}), outbox.ErrTransactionDone},
			} {
				if !errors.Is(c.err, c.want) {
					t.Errorf("%s: got %v, want %v", name, c.err, c.want)
				}
			}
			f.want(0, 0)
		})
	})
	t.Run("refuses_handles_that_would_store_nothing", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				dry := tx.Session(&gorm.Session{DryRun: true}).Enqueue(t.Context(), message("1"))
				if !errors.Is(dry, gormstore.ErrDryRun) {
					t.Errorf("dry run: got %v, want ErrDryRun", dry)
				}
				failed := tx.DB.Session(&gorm.Session{})
				_ = failed.AddError(errUndo)
				got := f.store.In(failed).Enqueue(t.Context(), message("1"))
				if !errors.Is(got, gormstore.ErrFailedSession) || !errors.Is(got, errUndo) {
					t.Errorf("failed session: got %v, want ErrFailedSession and its error", got)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(0, 0)
		})
	})
	t.Run("refuses_a_transaction_of_another_database", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		other := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
			if err := other.store.Enqueue(ctx, message("1")); !errors.Is(err, outbox.ErrNoTransaction) {
				t.Errorf("by context: got %v, want ErrNoTransaction", err)
			}
			tx, _ := f.store.FromContext(ctx)
			if err := other.store.In(tx.DB).Enqueue(ctx, message("1")); !errors.Is(err, gormstore.ErrOtherDatabase) {
				t.Errorf("by handle: got %v, want ErrOtherDatabase", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("refuses_a_bad_message_before_any_SQL_and_leaves_the_transaction_usable", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			bad := message("1")
			bad.Type = strings.Repeat("x", 300)
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				err := tx.Enqueue(t.Context(), message("0"), bad)
				field, ok := errors.AsType[*outbox.FieldError](err)
				if !ok || field.Field != "Type" || field.Limit != 255 {
					t.Errorf("got %v, want a FieldError of Type", err)
				}
				return tx.Enqueue(t.Context(), message("2"))
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(0, 1)
		})
	})
	t.Run("names_a_repeated_id", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("1")[0]
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				return tx.Enqueue(t.Context(), message("2"), m)
			})
			field, ok := errors.AsType[*outbox.FieldError](err)
			if !ok || field.Code != outbox.CodeDuplicateID {
				t.Errorf("got %v, want a FieldError of the code %s", err, outbox.CodeDuplicateID)
			}
			f.want(0, 1)
		})
	})
	t.Run("stores_any_number_of_messages_in_their_order", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			messages := make([]*outbox.Message, manyMessages)
			for i := range messages {
				messages[i] = message("k")
			}
			f.store1(messages...)
			f.want(0, len(messages))
			if lane := outbox.LaneOf(messages[0], 8); f.field(messages[0], "lane") != fmt.Sprint(lane) {
				t.Errorf("lane is %s, want %d", f.field(messages[0], "lane"), lane)
			}
			r := f.started()
			for i, m := range r.claim(func(q *outbox.ClaimRequest) { q.Limit = 10_000 }).Messages {
				if m.ID != messages[i].ID {
					t.Fatalf("message %d came out of order", i)
				}
			}
		})
	})
	t.Run("works_with_prepared_statements", func(t *testing.T) {
		for name, open := range databases {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, open(t, gorm.Config{PrepareStmt: true}), 8, gormstore.Config{})
				woken := f.store.Wake(t.Context())
				for i := range 3 {
					err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
						return both(t.Context(), tx, fmt.Sprint("plain", i))
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				err := f.db.Session(&gorm.Session{PrepareStmt: true}).Transaction(func(tx *gorm.DB) error {
					return both(t.Context(), f.store.In(tx), "session")
				})
				if err != nil {
					t.Fatal(err)
				}
				f.want(4, 4)
				f.woken(woken)
			})
		}
	})
	t.Run("works_inside_the_statement_of_a_model_hook", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			if err := f.db.AutoMigrate(&hookedOrder{}); err != nil {
				t.Fatal(err)
			}
			if err := f.db.Create(&hookedOrder{ID: "1", store: f.store}).Error; err != nil {
				t.Fatal(err)
			}
			f.want(0, 1)
			err := f.db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&hookedOrder{ID: "2", store: f.store}).Error
			if !errors.Is(err, outbox.ErrNoTransaction) {
				t.Errorf("without GORM's default transaction: got %v, want ErrNoTransaction", err)
			}
		})
	})
	t.Run("works_on_a_pool_of_one_connection", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			pool, err := f.db.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(1)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err = f.store.InTransaction(ctx, func(ctx context.Context) error {
				return f.store.InTransaction(ctx, func(ctx context.Context) error { return f.store.Enqueue(ctx, message("1")) })
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(0, 1)
		})
	})
	t.Run("takes_a_lock_for_each_key_when_told_to", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{StrictKeys: true})
		err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
			if err := tx.Enqueue(t.Context(), message("a"), message("b"), message("a"), message("")); err != nil {
				return err
			}
			var n int
			locks := "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
			if err := tx.Raw(locks).Row().Scan(&n); err != nil {
				return err
			}
			if n != 2 {
				t.Errorf("%d locks for two keys", n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("gives_the_message_its_id_and_nothing_else", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{
			Headers: func(context.Context, *outbox.Message) []outbox.Header {
				return []outbox.Header{{Name: "traceparent", Value: "00-1"}}
			},
		})
		m := message("1")
		f.store1(m)
		if m.ID == uuid.Nil || m.ID.Version() != 7 || len(m.Headers) != 0 || !m.CreatedAt.IsZero() {
			t.Errorf("Enqueue left %+v", m)
		}
		got := f.started().claim().Messages[0]
		if len(got.Headers) != 1 || got.Headers[0].Name != "traceparent" {
			t.Errorf("headers are %v, want the configured one", got.Headers)
		}
	})
}

// hookedOrder enqueues by itself.
type hookedOrder struct {
	ID    string           `gorm:"primaryKey"`
	store *gormstore.Store `gorm:"-"`
}

func (o *hookedOrder) AfterCreate(tx *gorm.DB) error {
	return o.store.In(tx).Enqueue(tx.Statement.Context, message(o.ID))
}

// woken waits for a signal.
func (f *fixture) woken(c <-chan []int) []int {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	select {
	case lanes := <-c:
		return lanes
	case <-ctx.Done():
		f.Fatal("nobody was woken")
		return nil
	}
}
