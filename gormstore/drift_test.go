package gormstore_test

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

var update = flag.Bool("update", false, "write down what the migrations make")

const catalogFile = "migrations/postgres.txt"

func TestSchema(t *testing.T) {
	t.Run("is_written_down_as_the_migrations_make_it", func(t *testing.T) {
		f := newFixture(t, open(t, postgres.Open(quick(t)), gorm.Config{}), 8, gormstore.Config{})
		made, err := f.store.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(catalogFile, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		written, err := os.ReadFile(catalogFile)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(written), made); diff != "" {
			t.Errorf("%s differs (-written +made), which -update mends:\n%s", catalogFile, diff)
		}
	})
	t.Run("has_no_difference_under_any_name", func(t *testing.T) {
		t.Parallel()
		config := gormstore.MigrateConfig{Schema: `Odd "name"`, Name: strings.Repeat("Long_name_", 3) + "12345678"}
		db := open(t, postgres.Open(quick(t)), gorm.Config{})
		t.Cleanup(func() { exec(t, db, `DROP SCHEMA "Odd ""name""" CASCADE`) })
		if err := gormstore.Migrate(t.Context(), db, config); err != nil {
			t.Fatal(err)
		}
		report, err := gormstore.CheckSchema(t.Context(), db, config)
		if err != nil || len(report.Drift) > 0 || report.Lanes != 64 || report.Version != report.Want {
			t.Errorf("got %v, %v; want no difference", report, err)
		}
	})
	t.Run("is_asked_for_when_there_is_none", func(t *testing.T) {
		t.Parallel()
		db := open(t, postgres.Open(quick(t)), gorm.Config{})
		_, err := gormstore.CheckSchema(t.Context(), db, gormstore.MigrateConfig{})
		if !errors.Is(err, gormstore.ErrSchema) {
			t.Errorf("got %v, want ErrSchema", err)
		}
	})
}

// TestMigrate_locks: a migration that waits for a table has everybody behind it who wants the table after that.
func TestMigrate_locks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, open(t, postgres.Open(quick(t)), gorm.Config{}), 8, gormstore.Config{})
	exec(t, f.db, "DROP INDEX outbox_audit_message")
	exec(t, f.db, "UPDATE outbox_meta SET version = 4")
	exec(t, f.db, "DELETE FROM outbox_migrations WHERE version_id > 4")
	tx := f.db.Begin()
	exec(t, tx, "LOCK TABLE outbox_meta IN SHARE MODE")
	if err := gormstore.Migrate(t.Context(), f.db, gormstore.MigrateConfig{}); err == nil {
		t.Error("a migration changed a table that a transaction had locked")
	} else if !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("got %v, want that it gave up waiting", err)
	}
	if err := tx.Commit().Error; err != nil {
		t.Fatal(err)
	}
	if err := gormstore.Migrate(t.Context(), f.db, gormstore.MigrateConfig{}); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestDrift changes one thing at a time.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name   string
		change string
		breaks bool
		report string
	}{
		{"a_table_is_gone", "DROP TABLE outbox_audit", true, "breaks: table audit is missing"},
		{"a_table_is_not_logged", "ALTER TABLE outbox_blocks SET UNLOGGED", true, "breaks: table blocks is ru"},
		{"a_column_is_gone", "ALTER TABLE outbox_messages DROP COLUMN tenant", true, "breaks: column messages.tenant is missing"},
		{"a_column_is_of_a_type", "ALTER TABLE outbox_messages ALTER COLUMN available_at TYPE timestamp", true, "breaks: column messages.available_at is timestamp without time zone: want timestamp with time zone"},
		{"a_default_is_gone", "ALTER TABLE outbox_messages ALTER COLUMN created_at DROP DEFAULT", true, "breaks: column messages.created_at is timestamp with time zone NOT NULL: want timestamp with time zone NOT NULL DEFAULT"},
		{"a_column_must_be_filled", "ALTER TABLE outbox_messages ADD COLUMN extra text NOT NULL", true, "breaks: column messages.extra is not ours: text NOT NULL"},
		{"a_column_may_be_filled", "ALTER TABLE outbox_messages ADD COLUMN extra text", false, "slows: column messages.extra is not ours: text"},
		{"numbers_come_in_packs", "ALTER TABLE outbox_messages ALTER COLUMN seq SET CACHE 20", true, "breaks: numbers messages.seq is CACHE 20 INCREMENT 1: want CACHE 1 INCREMENT 1"},
		{"ids_may_repeat", "ALTER TABLE outbox_messages DROP CONSTRAINT outbox_messages_pkey", true, "breaks: index messages_pkey is missing"},
		{"an_index_is_gone", "DROP INDEX outbox_messages_ready", false, "slows: index messages_ready is missing: want messages (lane, seq) WHERE (state = 0)"},
		{"an_index_has_a_condition", "DROP INDEX outbox_messages_ready; CREATE INDEX outbox_messages_ready ON outbox_messages (lane, seq) WHERE state = 1", true, "breaks: index messages_ready is messages (lane, seq) WHERE (state = 1): want"},
		{"an_index_is_not_ours", "CREATE INDEX extra ON outbox_messages (topic)", false, "slows: index extra is not ours: messages (topic)"},
		{"autovacuum_is_reset", "ALTER TABLE outbox_messages RESET (autovacuum_vacuum_threshold)", false, "slows: option messages.autovacuum_vacuum_threshold is missing: want 5000"},
		{"storage_is_reset", "ALTER TABLE outbox_messages ALTER COLUMN payload SET STORAGE EXTENDED", false, "slows: storage messages.payload is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			db := open(t, postgres.Open(quick(t)), gorm.Config{})
			f := newFixture(t, db, 8, gormstore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			exec(t, f.db, c.change)
			report, err := gormstore.CheckSchema(t.Context(), f.db, gormstore.MigrateConfig{})
			if err != nil || len(report.Drift) == 0 || !strings.Contains(report.String(), c.report) {
				t.Errorf("reported %v, %v; want %q", report, err, c.report)
			}
			_, err = f.relay().tryAcquire(testLease)
			changed, ok := errors.AsType[*gormstore.SchemaError](err)
			if c.breaks && (!ok || !errors.Is(err, gormstore.ErrSchema) || len(changed.Drift) == 0) {
				t.Errorf("a relay got %v, want a SchemaError", err)
			}
			if !c.breaks && (err != nil || !strings.Contains(log.String(), "may slow")) {
				t.Errorf("a relay got %v and the log %q, want a warning alone", err, log.String())
			}
		})
	}
}
