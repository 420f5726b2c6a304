package gormstore_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
)

func TestPlanMigration(t *testing.T) {
	t.Run("holds_all_that_Migrate_does", func(t *testing.T) {
		for name, open := range databases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := open(t, gorm.Config{})
				config := gormstore.MigrateConfig{Lanes: 8}
				for _, step := range plan1(t, db, config) {
					runStep(t, db, step)
				}
				if steps := plan1(t, db, config); len(steps) > 0 {
					t.Errorf("%d steps are left after all were run: %v", len(steps), steps)
				}
				if report, err := gormstore.CheckSchema(t.Context(), db, config); err != nil || len(report.Drift) > 0 {
					t.Errorf("got %v, %v; want no difference", report, err)
				}
				f := newFixture(t, db, 8, gormstore.Config{}) // Migrate has nothing to do
				f.enqueue("k")
				if c := f.started().claim(); len(c.Messages) != 1 {
					t.Errorf("claimed %d messages, want one", len(c.Messages))
				}
			})
		}
	})
	t.Run("makes_a_schema_that_is_missing", func(t *testing.T) {
		t.Parallel()
		db := openPostgres(t, gorm.Config{})
		config := gormstore.MigrateConfig{Schema: `Planned "schema"`}
		t.Cleanup(func() { exec(t, db, `DROP SCHEMA "Planned ""schema""" CASCADE`) })
		for _, step := range plan1(t, db, config) {
			runStep(t, db, step)
		}
		if report, err := gormstore.CheckSchema(t.Context(), db, config); err != nil || len(report.Drift) > 0 {
			t.Errorf("got %v, %v; want no difference", report, err)
		}
	})
	t.Run("begins_where_the_tables_are", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		exec(t, f.db, "DROP INDEX outbox_audit_message")
		exec(t, f.db, "DELETE FROM outbox_migrations WHERE version_id > 4")
		if steps := plan1(t, f.db, gormstore.MigrateConfig{}); len(steps) != 1 || steps[0].Version != 5 {
			t.Errorf("got %v, want the step to version 5", steps)
		}
	})
}

func plan1(t *testing.T, db *gorm.DB, config gormstore.MigrateConfig) []gormstore.MigrationStep {
	t.Helper()
	steps, err := gormstore.PlanMigration(t.Context(), db, config)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func runStep(t *testing.T, db *gorm.DB, step gormstore.MigrationStep) {
	t.Helper()
	err := db.Transaction(func(tx *gorm.DB) error {
		for _, text := range step.Statements {
			if err := tx.Exec(text).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("step %d: %v", step.Version, err)
	}
}
