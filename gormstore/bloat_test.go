package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

func TestBloat(t *testing.T) {
	t.Parallel()
	t.Run("counts_rows_that_are_deleted_and_not_cleaned_up", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		f.enqueue("1", "2", "3")
		exec(t, f.db, "DELETE FROM outbox_messages")
		tick := time.NewTicker(100 * time.Millisecond) // statistics are late
		defer tick.Stop()
		for end := time.Now().Add(30 * time.Second); ; <-tick.C {
			dead, _, err := f.store.Bloat(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if dead >= 3 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("got %d dead rows, want 3", dead)
			}
		}
	})
	t.Run("tells_the_age_of_the_oldest_snapshot", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		holder := f.db.Begin()
		defer holder.Rollback()
		exec(t, holder, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		exec(t, holder, "SELECT 1")
		exec(t, f.db, "SELECT pg_sleep(0.05)")
		_, age, err := f.store.Bloat(t.Context())
		if err != nil || age < 50*time.Millisecond {
			t.Errorf("got %v, %v, want at least the 50 ms that the database has slept", age, err)
		}
	})
	for name, open := range databases {
		if name == "postgres" {
			continue
		}
		t.Run("is_unsupported_on_"+name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{})
			if _, _, err := f.store.Bloat(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("got %v, want ErrUnsupported", err)
			}
		})
	}
}
