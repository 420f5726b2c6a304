package gormstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

// TestSQLiteWriters: with a deferred transaction, which is GORM's, one that reads before it writes fails as busy
// whenever another writes in between.
func TestSQLiteWriters(t *testing.T) {
	address := filepath.Join(t.TempDir(), "app.db") + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)"
	f := newFixture(t, open(t, sqlite.Open(address), gorm.Config{}), 8, gormstore.Config{})
	t.Run("wait_for_one_another_inside_the_stores_transactions", func(t *testing.T) {
		const writers, each = 4, 10
		results := make(chan error, writers)
		for w := range writers {
			go func() {
				var err error
				for i := range each {
					err = errors.Join(err, f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
						var n int64
						if err := tx.Model(&order{}).Count(&n).Error; err != nil {
							return err
						}
						return both(t.Context(), tx, fmt.Sprint(w, "-", i))
					}))
				}
				results <- err
			}()
		}
		for range writers {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		f.want(writers*each, writers*each)
	})
	t.Run("are_told_what_to_do_when_they_cannot_wait", func(t *testing.T) {
		err := f.db.Transaction(func(tx *gorm.DB) error {
			var n int64
			if err := tx.Model(&order{}).Count(&n).Error; err != nil {
				return err
			}
			f.enqueue("meanwhile")
			return f.store.In(tx).Enqueue(t.Context(), message("late"))
		})
		if err == nil || !strings.Contains(err.Error(), "_txlock=immediate") {
			t.Errorf("got %v, want advice", err)
		}
	})
}
