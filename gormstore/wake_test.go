package gormstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestWake(t *testing.T) {
	t.Run("names_the_lanes_of_a_commit", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			woken := f.store.Wake(t.Context())
			m := f.enqueue("a", "b", "c")
			var want []int
			for _, m := range m {
				want = append(want, outbox.LaneOf(m, 8))
			}
			slices.Sort(want)
			if got := f.woken(woken); !slices.Equal(got, slices.Compact(want)) {
				t.Errorf("woke lanes %v, want %v", got, want)
			}
		})
	})
	t.Run("is_silent_after_a_rollback", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			woken := f.store.Wake(t.Context())
			_ = f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				return errors.Join(tx.Enqueue(t.Context(), message("1")), errUndo)
			})
			select {
			case lanes := <-woken:
				t.Errorf("woke lanes %v", lanes)
			default:
			}
		})
	})
	t.Run("sees_the_commit_of_a_transaction_begun_by_hand", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			woken := f.store.Wake(t.Context())
			tx := f.db.Begin()
			if err := f.store.In(tx).Enqueue(t.Context(), message("1")); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit().Error; err != nil {
				t.Fatal(err)
			}
			f.woken(woken)
		})
	})
	t.Run("never_blocks_a_writer_and_coalesces", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			woken := f.store.Wake(t.Context())
			for range 20 {
				f.enqueue("a", "b", "c", "d", "e")
			}
			n := 0
			for {
				select {
				case <-woken:
					n++
					continue
				case <-time.After(50 * time.Millisecond):
				}
				break
			}
			if n == 0 || n > 2 {
				t.Errorf("%d signals for twenty commits that nobody took, want one or two", n)
			}
		})
	})
	t.Run("closes_the_channel_when_its_context_ends", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		woken := f.store.Wake(ctx)
		cancel()
		f.eventually("the channel to be closed", func() bool { _, ok := <-woken; return !ok })
	})
}

func TestOnCommit(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		ran := 0
		run := func(end error) {
			_ = f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				err := tx.Transaction(func(tx *gormstore.Tx) error { return tx.OnCommit(func() { ran++ }) })
				if ran > 0 && end == nil {
					t.Error("ran before the outer commit")
				}
				return errors.Join(err, end)
			})
		}
		if run(nil); ran != 1 {
			t.Errorf("ran %d times after the commit, want once", ran)
		}
		if run(errUndo); ran != 1 {
			t.Error("ran after a rollback")
		}
	})
}

func TestOpen(t *testing.T) {
	t.Run("refuses_a_second_store_of_the_same_name", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		if _, err := gormstore.Open(f.db, gormstore.Config{Name: "outbox"}); !errors.Is(err, gormstore.ErrOpened) {
			t.Errorf("got %v, want ErrOpened", err)
		}
	})
	t.Run("lets_a_second_outbox_join_the_transaction", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			audit := newFixture(t, f.db, 4, gormstore.Config{Name: "audit"}).store
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				if err := audit.Enqueue(tx.Context(), message("1")); err != nil {
					return err
				}
				return errors.Join(audit.In(tx.DB).Enqueue(t.Context(), message("2")), both(t.Context(), tx, "3"))
			})
			if err != nil {
				t.Fatal(err)
			}
			f.want(1, 1)
			if n := f.count("audit_messages"); n != 2 {
				t.Errorf("%d messages in the second outbox, want 2", n)
			}
		})
	})
	t.Run("refuses_names_that_cannot_be_identifiers", func(t *testing.T) {
		db := openSQLite(t, gorm.Config{})
		for _, c := range []gormstore.Config{{Name: `x"; DROP`}, {Name: "1x"}, {Schema: "s"}} {
			if _, ok := errors.AsType[*gormstore.NameError](second(gormstore.Open(db, c))); !ok {
				t.Errorf("%+v was taken", c)
			}
		}
	})
	t.Run("keeps_the_handle_able_to_find_its_pool", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			pool, err := f.db.DB()
			if err != nil || pool.PingContext(t.Context()) != nil {
				t.Errorf("DB() = %v, %v", pool, err)
			}
		})
	})
}

func second[T any](_ T, err error) error { return err }

func TestMigrate(t *testing.T) {
	t.Run("may_run_again_and_keeps_the_number_of_lanes", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			if err := gormstore.Migrate(t.Context(), f.db, gormstore.MigrateConfig{}); err != nil {
				t.Fatal(err)
			}
			err := gormstore.Migrate(t.Context(), f.db, gormstore.MigrateConfig{Lanes: 9})
			if !errors.Is(err, gormstore.ErrLanes) {
				t.Errorf("got %v, want ErrLanes", err)
			}
			if n := f.count("outbox_lanes"); n != 8 {
				t.Errorf("%d lanes, want 8", n)
			}
		})
	})
	t.Run("may_run_several_times_at_once", func(t *testing.T) {
		for name, open := range databases {
			t.Run(name, func(t *testing.T) {
				db := open(t, gorm.Config{})
				results := make(chan error, 8)
				for range cap(results) {
					go func() { results <- gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{}) }()
				}
				for range cap(results) {
					if err := <-results; err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
	t.Run("may_run_several_times_at_once_for_a_new_schema", func(t *testing.T) {
		db := openPostgres(t, gorm.Config{})
		for i := range 3 {
			schema := fmt.Sprint("new_", i, time.Now().Format("_150405_000000"))
			t.Cleanup(func() { exec(t, db, "DROP SCHEMA "+schema+" CASCADE") })
			results := make(chan error, 8)
			for range cap(results) {
				go func() { results <- gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{Schema: schema}) }()
			}
			for range cap(results) {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
		}
	})
	t.Run("takes_any_schema_name", func(t *testing.T) {
		db := openPostgres(t, gorm.Config{})
		schema := `Odd "näme'` + message("").Topic + time.Now().Format(".150405.000000")
		t.Cleanup(func() { exec(t, db, `DROP SCHEMA "`+doubled(schema)+`" CASCADE`) })
		f := newFixture(t, db, 8, gormstore.Config{Schema: schema, Name: "Mixed_Case"})
		f.enqueue("1", "2")
		r := f.started()
		if n := r.settle(r.claim(), all(outbox.Delivered)); n != 2 {
			t.Errorf("delivered %d, want 2", n)
		}
		again := gormstore.MigrateConfig{Schema: schema, Name: "Mixed_Case"}
		if err := gormstore.Migrate(t.Context(), db, again); err != nil {
			t.Errorf("again: %v", err)
		}
	})
	t.Run("is_asked_for_when_the_tables_are_missing", func(t *testing.T) {
		for name, open := range databases {
			t.Run(name, func(t *testing.T) {
				store, err := gormstore.Open(open(t, gorm.Config{}), gormstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				err = store.Transaction(t.Context(), func(tx *gormstore.Tx) error { return tx.Enqueue(t.Context(), message("1")) })
				if !errors.Is(err, gormstore.ErrSchema) {
					t.Errorf("enqueue: got %v, want ErrSchema", err)
				}
				_, err = store.AcquireLanes(t.Context(), outbox.LaneRequest{Lease: testLease})
				if !errors.Is(err, gormstore.ErrSchema) {
					t.Errorf("acquire: got %v, want ErrSchema", err)
				}
			})
		}
	})
	t.Run("is_asked_for_when_the_version_is_another", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		exec(t, f.db, "UPDATE outbox_meta SET version = 99")
		err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error { return tx.Enqueue(t.Context(), message("1")) })
		if !errors.Is(err, gormstore.ErrSchema) {
			t.Errorf("got %v, want ErrSchema", err)
		}
	})
}

// TestWarning: an application that takes SQLite's busy timeout away is told so, once.
func TestWarning(t *testing.T) {
	var log bytes.Buffer
	db := open(t, sqlite.Open(filepath.Join(t.TempDir(), "app.db")+"?_pragma=busy_timeout(0)"), gorm.Config{})
	f := newFixture(t, db, 8, gormstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	f.enqueue("a")
	f.enqueue("b")
	if n := strings.Count(log.String(), "busy timeout"); n != 1 {
		t.Errorf("%d warnings, want one:\n%s", n, log.String())
	}
}

func doubled(s string) string {
	var b []rune
	for _, r := range s {
		if r == '"' {
			b = append(b, r)
		}
		b = append(b, r)
	}
	return string(b)
}
