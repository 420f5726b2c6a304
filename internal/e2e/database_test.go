package e2e

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
)

// database is one of the test's own, which ends with it.
type database struct {
	url       string // what DATABASE_URL says
	dialector func() gorm.Dialector
	view      *gorm.DB // for looking into tables
	epoch     string   // SQL: available_at in seconds
}

func newPostgreSQL(t *testing.T) *database {
	t.Helper()
	server, err := url.Parse(testservices.Postgres(t))
	if err != nil {
		t.Fatalf("%s is not of the form postgres://user:password@host:port/database", testservices.PostgresEnv)
	}
	name := testservices.Name("e2e")
	admin := open(t, postgres.Open(server.String()))
	run(t, admin, fmt.Sprintf("CREATE DATABASE %q", name))
	t.Cleanup(func() {
		drop(t, "database "+name, admin.Exec(fmt.Sprintf("DROP DATABASE %q WITH (FORCE)", name)).Error)
	})
	own := *server
	own.Path = "/" + name
	d := &database{
		url:       own.String(),
		dialector: func() gorm.Dialector { return postgres.Open(own.String()) },
		epoch:     "CAST(extract(epoch FROM available_at) AS float8)",
	}
	d.view = open(t, d.dialector())
	return d
}

// newSQLite enforces foreign keys, which SQLite does only when told to.
func newSQLite(t *testing.T) *database {
	t.Helper()
	const options = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate"
	file := filepath.Join(t.TempDir(), "shop.db")
	d := &database{
		url:       "sqlite:" + file,
		dialector: func() gorm.Dialector { return sqlite.Open(file + options) },
		epoch:     "available_at / 1e6",
	}
	d.view = open(t, d.dialector())
	return d
}

// open opens a handle that ends with the test.
func open(t *testing.T, dialector gorm.Dialector) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	pool.SetMaxOpenConns(10)
	pool.SetMaxIdleConns(10)
	t.Cleanup(func() { drop(t, "connections", pool.Close()) })
	return db
}

func (d *database) migrate(t *testing.T) {
	t.Helper()
	must(t, gormstore.Migrate(t.Context(), d.view, gormstore.MigrateConfig{}))
}

// store opens a handle of its own with a store on it.
func (d *database) store(t *testing.T) (*gorm.DB, *gormstore.Store) {
	t.Helper()
	db := open(t, d.dialector())
	store, err := gormstore.Open(db, gormstore.Config{})
	must(t, err)
	return db, store
}

func run(t *testing.T, db *gorm.DB, statement string, args ...any) {
	t.Helper()
	if err := db.Exec(statement, args...).Error; err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func scan[T any](t *testing.T, db *gorm.DB, query string, args ...any) T {
	t.Helper()
	var value T
	if err := db.Raw(query, args...).Scan(&value).Error; err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func (d *database) count(t *testing.T, table string) int {
	t.Helper()
	return scan[int](t, d.view, "SELECT count(*) FROM "+table)
}

// stored is what the outbox knows of a message.
type stored struct {
	ID, Topic, Key, Type string
	State                int
	Attempts, Failures   int
	LastClass            string
	AvailableAt          float64 // seconds
}

func (s stored) String() string {
	return fmt.Sprintf("%s (key %s, state %d, %d attempts, %d failures, last class %q)",
		s.ID, s.Key, s.State, s.Attempts, s.Failures, s.LastClass)
}

// messages returns what is stored, in enqueue order.
func (d *database) messages(t *testing.T) []stored {
	t.Helper()
	return scan[[]stored](t, d.view, `
		SELECT CAST(id AS text) AS id, topic, coalesce(key, '') AS key, type, state, attempts, failures,
		       coalesce(last_class, '') AS last_class, coalesce(`+d.epoch+`, 0) AS available_at
		FROM outbox_messages ORDER BY seq`)
}

// awaitEmpty waits until every message is settled.
func (d *database) awaitEmpty(t *testing.T) {
	t.Helper()
	eventuallyEvery(t, 50*time.Millisecond, func() string {
		left := d.count(t, "outbox_messages")
		if left == 0 {
			return ""
		}
		rest := d.messages(t)
		return fmt.Sprintf("%d messages are still stored, among them %v", left, rest[:min(len(rest), 10)])
	})
}
