package gormstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// Where a failed statement takes the whole transaction with it, and the application goes on all the same, the rest
// would be stored without the beginning.
func TestTransactionLost(t *testing.T) {
	for name, config := range map[string]gorm.Config{"plain": {}, "prepared": {PrepareStmt: true}} {
		t.Run("to_a_deadlock_of_MariaDB/"+name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openMariaDB(t, config), 8, gormstore.Config{})
			f.do(f.db.Create([]order{{"a"}, {"b"}}).Error)
			f.lose(func(tx *gorm.DB) error {
				lock := func(tx *gorm.DB, id string) error {
					return tx.Exec("UPDATE orders SET id = id WHERE id = ?", id).Error
				}
				other := f.writer().tx
				f.do(other.Create(&[]order{{"1"}, {"2"}, {"3"}, {"4"}}).Error) // so it is the other that lives
				f.do(lock(other, "a"))
				f.do(tx.Exec("SELECT id FROM orders WHERE id = 'b' FOR UPDATE").Error)
				waits := background(func() (struct{}, error) { return struct{}{}, lock(other, "b") })
				f.waiting(1, "UPDATE orders")
				err := lock(tx, "a")
				f.do(await(f, waits).err)
				f.do(other.Rollback().Error)
				return err
			})
		})
		t.Run("to_an_interrupt_of_SQLite/"+name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openSQLite(t, config), 8, gormstore.Config{})
			f.lose(func(tx *gorm.DB) error {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				return tx.WithContext(ctx).Exec(`INSERT INTO orders
					WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000000)
					SELECT 'many ' || i FROM n`).Error
			})
		})
	}
	t.Run("but_not_to_a_read_of_SQLite_that_was_interrupted", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		f.inTx(nil, func(tx *gorm.DB) error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			var n int
			err := tx.WithContext(ctx).Raw(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)
				SELECT max(i) FROM n`).Scan(&n).Error
			if err == nil {
				t.Error("the read was not interrupted")
			}
			return f.store.In(tx).Enqueue(t.Context(), message("k"))
		})
		if n := f.count("outbox_messages"); n != 1 {
			t.Errorf("%d messages are stored, want 1", n)
		}
	})
}

// lose runs a transaction in which fn loses all that was done before, and which goes on.
func (f *fixture) lose(fn func(tx *gorm.DB) error) {
	f.Helper()
	tx := f.writer().tx
	f.do(tx.Create(&order{ID: "first"}).Error)
	lost := fn(tx)
	if lost == nil {
		f.Fatal("nothing was lost")
	}
	if err := f.store.In(tx).Enqueue(f.Context(), message("k")); !errors.Is(err, gormstore.ErrTransactionLost) {
		f.Errorf("Enqueue: got %v, want ErrTransactionLost", err)
	}
	if err := tx.Commit().Error; !errors.Is(err, gormstore.ErrTransactionLost) || !errors.Is(err, lost) {
		f.Errorf("commit: got %v, want ErrTransactionLost of %v", err, lost)
	}
	if n := f.count("outbox_messages"); n != 0 {
		f.Errorf("%d messages of a transaction that was rolled back", n)
	}
}
