package gormstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// tried is often enough to meet what the driver of SQLite does by chance: it leaves out a statement whose context ends
// as it begins, and calls that a success.
const tried = 500

func TestSQLite_an_end_of_the_context(t *testing.T) {
	t.Run("between_two_statements_undoes_the_first", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		for range tried {
			ctx, end := context.WithCancel(t.Context())
			err := f.store.Transact(ctx, func(exec func(text string) error) error {
				if err := exec("INSERT INTO orders VALUES ('half')"); err != nil {
					return err
				}
				end()
				_ = exec("INSERT INTO orders VALUES ('other half')")
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("committed under a context that had ended: %v", err)
			}
		}
		if n := f.count("orders"); n != 0 {
			t.Errorf("%d rows are stored, want none", n)
		}
		f.enqueue("a") // waits for nobody
	})
	t.Run("as_a_statement_begins_is_an_error_of_Enqueue", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		f.inTx(nil, func(tx *gorm.DB) error {
			err := f.store.In(tx).Enqueue(endsUnseen{t.Context()}, message("a"))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of the context", err)
			}
			return nil
		})
	})
	t.Run("keeps_the_connection_in_which_a_database_lives", func(t *testing.T) {
		db := open(t, sqlite.Open("file::memory:?_pragma=busy_timeout(10000)"), gorm.Config{})
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		f := newFixture(t, db, 8, gormstore.Config{})
		err = f.store.Transact(t.Context(), func(exec func(text string) error) error {
			return errors.Join(exec("ROLLBACK"), errUndo) // as the database does when a statement is interrupted
		})
		if !errors.Is(err, errUndo) {
			t.Errorf("got %v, want the function's error", err)
		}
		f.enqueue("a")
	})
}

// endsUnseen is a context that has ended after everybody but the last has looked.
type endsUnseen struct{ context.Context }

func (endsUnseen) Err() error { return context.Canceled }
