package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/pressly/goose/v3/database"
	"gorm.io/gorm"
)

// MigrationStep is what one step of [Migrate] runs in one transaction.
type MigrationStep struct {
	Version    int // of the tables afterwards; 0 makes the schema and the table that steps are recorded in
	Statements []string
}

// PlanMigration returns the steps that [Migrate] would run now, with the statements that record them, and runs none.
// Somebody else may run them, each step in a transaction: Migrate then finds nothing to do.
func PlanMigration(ctx context.Context, db *gorm.DB, config MigrateConfig) ([]MigrationStep, error) {
	n, err := newNames(db, config.Schema, config.Name)
	if err != nil {
		return nil, err
	}
	d, err := newDialect(db, n)
	if err != nil {
		return nil, err
	}
	lanes, err := config.lanes()
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("plan the migration: %w", err)
	}
	steps, err := planMigration(ctx, pool, d, n, lanes)
	if err != nil {
		return nil, fmt.Errorf("plan the migration: %w", err)
	}
	return steps, nil
}

func planMigration(ctx context.Context, pool *sql.DB, d dialect, n names, lanes int) ([]MigrationStep, error) {
	all, err := readMigrations(d, n, lanes)
	if err != nil {
		return nil, err
	}
	versions, err := newVersionTable(d, n)
	if err != nil {
		return nil, err
	}
	exists, err := versions.TableExists(ctx, pool)
	if err != nil {
		return nil, err
	}
	var steps []MigrationStep
	done := map[int]bool{}
	if exists {
		done, err = versions.applied(ctx, pool)
	} else {
		steps, err = firstStep(ctx, pool, d, versions)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !done[s.Version] {
			s.Statements = append(s.Statements, versions.record(s.Version))
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// firstStep makes the schema, where it is missing, and the table of versions.
func firstStep(ctx context.Context, q querier, d dialect, versions *versionTable) ([]MigrationStep, error) {
	schema, err := d.newSchema(ctx, q)
	if err != nil {
		return nil, err
	}
	var r recorder
	if schema != "" {
		r.texts = append(r.texts, schema)
	}
	if err := versions.CreateVersionTable(ctx, &r); err != nil {
		return nil, err
	}
	return []MigrationStep{{0, append(r.texts, versions.record(0))}}, nil
}

// record says that a version was reached.
func (v *versionTable) record(version int) string {
	return fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, TRUE)", v.Tablename(), version)
}

// applied returns the versions that were migrated to.
func (v *versionTable) applied(ctx context.Context, q database.DBTxConn) (map[int]bool, error) {
	list, err := v.ListMigrations(ctx, q)
	done := map[int]bool{}
	for _, m := range list {
		done[int(m.Version)] = done[int(m.Version)] || m.IsApplied
	}
	return done, err
}

// recorder takes down statements, and runs none.
type recorder struct {
	querier
	texts []string
}

func (r *recorder) ExecContext(_ context.Context, text string, _ ...any) (sql.Result, error) {
	r.texts = append(r.texts, text)
	return driver.ResultNoRows, nil
}
