package gormstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

//go:embed migrations
var migrations embed.FS

// Migrate makes the outbox tables, or brings them to this package's version. It may be run by several processes at
// once, and again at every start. A step that waits longer than a few seconds for a lock, with all others behind it,
// gives up with an error, and Migrate may be called again. It returns [ErrLanes] when config asks for another number of
// lanes than recorded.
func Migrate(ctx context.Context, db *gorm.DB, config MigrateConfig) error {
	n, err := newNames(db, config.Schema, config.Name)
	if err != nil {
		return err
	}
	d, err := newDialect(db, n)
	if err != nil {
		return err
	}
	lanes, err := config.lanes()
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return fmt.Errorf("migrate the outbox: %w", err)
	}
	if err := migrate(ctx, pool, d, n, lanes); err != nil {
		return fmt.Errorf("migrate the outbox: %w", err)
	}
	return checkLanes(ctx, pool, d, config.Lanes)
}

func (c MigrateConfig) lanes() (int, error) {
	if c.Lanes == 0 {
		return defaultLanes, nil
	}
	if c.Lanes < minimumLanes || c.Lanes > maximumLanes {
		limit := min(max(c.Lanes, minimumLanes), maximumLanes)
		return 0, &outbox.FieldError{Field: "Lanes", Code: outbox.CodeOutOfRange, Limit: limit, Got: c.Lanes}
	}
	return c.Lanes, nil
}

func checkLanes(ctx context.Context, pool *sql.DB, d dialect, want int) error {
	m, err := d.meta(ctx, pool)
	if err != nil {
		return fmt.Errorf("check the outbox tables: %w", err)
	}
	if err := m.check(); err != nil {
		return err
	}
	if want != 0 && want != m.lanes {
		return fmt.Errorf("%w: %d recorded, %d asked for", ErrLanes, m.lanes, want)
	}
	return nil
}

func migrate(ctx context.Context, pool *sql.DB, d dialect, n names, lanes int) error {
	if err := makeSchema(ctx, pool, d); err != nil {
		return err
	}
	steps, err := readMigrations(d, n, lanes)
	if err != nil {
		return err
	}
	versions, err := newVersionTable(d, n)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{
		goose.WithStore(versions), goose.WithGoMigrations(toGoose(steps)...), goose.WithDisableGlobalRegistry(true),
	}
	options = append(options, d.migrateOptions()...)
	provider, err := goose.NewProvider(goose.DialectCustom, pool, nil, options...)
	if err != nil {
		return err
	}
	return upgrade(ctx, provider)
}

// upgrade runs the migrations that are missing. Where the database has no lock for this (SQLite), two processes may
// run the same one: the later fails in its transaction, finds the tables one version further, and goes on from there.
func upgrade(ctx context.Context, provider *goose.Provider) error {
	for {
		before, err := provider.GetDBVersion(ctx)
		if err != nil {
			return err
		}
		if _, err = provider.Up(ctx); err == nil {
			return nil
		}
		if after, lost := provider.GetDBVersion(ctx); lost != nil || after <= before {
			return err
		}
	}
}

// versioner is a dialect that makes the migration library's table itself.
type versioner interface {
	makeVersions(ctx context.Context, q querier) error
}

func makeSchema(ctx context.Context, q querier, d dialect) error {
	text, err := d.newSchema(ctx, q)
	if err != nil {
		return err
	}
	if text != "" {
		if _, err := q.ExecContext(ctx, text); err != nil && !isDuplicate(err) { // of another process, which was quicker
			return err
		}
	}
	if v, ok := d.(versioner); ok {
		return v.makeVersions(ctx, q)
	}
	return nil
}

// readMigrations returns the embedded migrations of d with the names put in. They are one transaction each.
func readMigrations(d dialect, n names, lanes int) ([]MigrationStep, error) {
	dir := path.Join("migrations", d.name())
	files, err := fs.ReadDir(migrations, dir)
	if err != nil {
		return nil, err
	}
	var steps []MigrationStep
	for _, f := range files {
		text, err := fs.ReadFile(migrations, path.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("number of migration %s: %w", f.Name(), err)
		}
		steps = append(steps, MigrationStep{version, renderMigration(d, n, string(text), lanes)})
	}
	return steps, nil
}

func toGoose(steps []MigrationStep) []*goose.Migration {
	list := make([]*goose.Migration, len(steps))
	for i, s := range steps {
		list[i] = goose.NewGoMigration(int64(s.Version), runSQL(s.Statements), nil)
	}
	return list
}

// renderMigration puts the names in last: a schema may be called like anything that is replaced or parted before.
func renderMigration(d dialect, n names, text string, lanes int) []string {
	statements := d.statements(strings.ReplaceAll(text, "{lane_count}", strconv.Itoa(lanes)))
	for i, s := range statements {
		statements[i] = n.render(s)
	}
	return statements
}

func runSQL(statements []string) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		for _, text := range statements {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}}
}

// versionTable is the migration library's table under a quoted name of ours.
type versionTable struct {
	database.Store
	exists string
}

func newVersionTable(d dialect, n names) (*versionTable, error) {
	s, err := database.NewStore(d.goose(), n.table("migrations"))
	if err != nil {
		return nil, err
	}
	return &versionTable{Store: s, exists: d.tableExists("migrations")}, nil
}

// TableExists asks the catalog for the quoted name.
func (v *versionTable) TableExists(ctx context.Context, q database.DBTxConn) (bool, error) {
	var ok bool
	err := q.QueryRowContext(ctx, v.exists).Scan(&ok)
	return ok, err
}
