package gormstore_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

var errUndo = errors.New("undo")

// both writes a business row and a message.
func both(ctx context.Context, tx *gormstore.Tx, id string) error {
	if err := tx.Create(&order{ID: id}).Error; err != nil {
		return err
	}
	return tx.Enqueue(ctx, message(id))
}

// want holds the numbers of stored rows against orders and messages.
func (f *fixture) want(orders, messages int) {
	f.Helper()
	if got := [2]int{f.count("orders"), f.count("outbox_messages")}; got != [2]int{orders, messages} {
		f.Errorf("stored %d orders and %d messages, want %d and %d", got[0], got[1], orders, messages)
	}
}

func TestTransaction(t *testing.T) {
	t.Run("stores_order_and_message_when_it_commits", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error { return both(t.Context(), tx, "1") })
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 1)
		})
	})
	t.Run("stores_neither_when_the_function_fails", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				return errors.Join(both(t.Context(), tx, "1"), errUndo)
			})
			if !errors.Is(err, errUndo) {
				t.Errorf("got %v, want the function's error", err)
			}
			f.want(0, 0)
		})
	})
	t.Run("stores_neither_when_the_function_panics", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			func() {
				defer func() { _ = recover() }()
				_ = f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
					_ = both(t.Context(), tx, "1")
					panic("undo")
				})
			}()
			f.want(0, 0)
		})
	})
	t.Run("stores_neither_when_the_commit_is_refused_and_the_connection_is_good_for_the_next", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			pool, err := f.db.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(1)
			if f.db.Name() == "sqlite" {
				exec(t, f.db, "PRAGMA foreign_keys = ON")
			}
			children := "CREATE TABLE children (parent VARCHAR(9) REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)"
			if f.db.Name() == "mysql" { // which has no deferred constraints, and refuses at once
				children = "CREATE TABLE children (parent VARCHAR(191), FOREIGN KEY (parent) REFERENCES orders (id))"
			}
			exec(t, f.db, children)
			for range 2 {
				err = f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
					return errors.Join(both(t.Context(), tx, "1"), tx.Exec("INSERT INTO children VALUES ('nobody')").Error)
				})
				if err == nil {
					t.Fatal("a commit that breaks a deferred constraint succeeded")
				}
				f.want(0, 0)
			}
			err = f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error { return both(t.Context(), tx, "1") })
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 1)
		})
	})
	t.Run("undoes_a_savepoint_with_its_messages_and_nothing_else", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				inner := tx.Transaction(func(tx *gormstore.Tx) error {
					return errors.Join(both(t.Context(), tx, "inner"), errUndo)
				})
				if !errors.Is(inner, errUndo) {
					t.Errorf("the savepoint returned %v", inner)
				}
				return both(t.Context(), tx, "outer")
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 1)
		})
	})
	t.Run("joins_the_transaction_of_its_context", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
				err := f.store.Transaction(ctx, func(tx *gormstore.Tx) error { return both(ctx, tx, "1") })
				if err != nil {
					return err
				}
				return f.store.Enqueue(ctx, message("2"))
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 2)
		})
	})
	t.Run("rolls_back_as_a_whole_when_a_joined_one_fails", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
				if err := f.store.Enqueue(ctx, message("1")); err != nil {
					return err
				}
				_ = f.store.InTransaction(ctx, func(context.Context) error { return errUndo })
				return nil
			})
			if !errors.Is(err, gormstore.ErrRollbackOnly) || !errors.Is(err, errUndo) {
				t.Errorf("got %v, want ErrRollbackOnly and the reason", err)
			}
			f.want(0, 0)
		})
	})
	t.Run("is_begun_by_GORM_and_enqueues_all_the_same", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			err := f.db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Create(&order{ID: "1"}).Error; err != nil {
					return err
				}
				chained := tx.Model(&order{}).Where("id = ?", "x") // its clauses must not reach our insert
				return f.store.In(chained).Enqueue(t.Context(), message("1"))
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 1)
		})
	})
	t.Run("returns_the_error_of_a_commit_that_fails", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		exec(t, f.db, "CREATE TABLE parents (id text PRIMARY KEY)")
		exec(t, f.db, "CREATE TABLE children (parent text REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")
		woken := f.store.Wake(t.Context())
		err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
			if err := tx.Exec("INSERT INTO children VALUES ('x')").Error; err != nil {
				return err
			}
			return tx.Enqueue(t.Context(), message("1"))
		})
		if err == nil {
			t.Error("the commit succeeded, want the violated constraint")
		}
		f.want(0, 0)
		select {
		case lanes := <-woken:
			t.Errorf("a failed commit woke lanes %v", lanes)
		default:
		}
	})
	t.Run("ends_with_its_context", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			ctx, cancel := context.WithCancel(t.Context())
			err := f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
				err := both(ctx, tx, "1")
				cancel()
				return err
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
			f.want(0, 0)
		})
	})
	t.Run("holds_its_messages_back_from_options_when_it_joins", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		err := f.store.InTransaction(t.Context(), func(ctx context.Context) error {
			return f.store.Transaction(ctx, func(*gormstore.Tx) error { return nil }, nil)
		})
		if !errors.Is(err, gormstore.ErrJoinedOptions) {
			t.Errorf("got %v, want ErrJoinedOptions", err)
		}
	})
}
