package gormstore_test

import (
	"database/sql"
	"errors"
	"net/url"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox/storetest"
)

// pooled are the ways that work through a pooler that gives each transaction another connection.
var pooled = map[string]func(t testing.TB, address string, config gorm.Config) *gorm.DB{
	"pgx_exec":           pooledIn("exec"),
	"pgx_cache_describe": pooledIn("cache_describe"),
	"pq_binary_parameters": func(t testing.TB, address string, config gorm.Config) *gorm.DB {
		return openPool(t, sql.Open, "postgres", withParameter(t, address, "binary_parameters", "yes"), config)
	},
}

func pooledIn(mode string) func(t testing.TB, address string, config gorm.Config) *gorm.DB {
	return func(t testing.TB, address string, config gorm.Config) *gorm.DB {
		return open(t, postgres.Open(withParameter(t, address, "default_query_exec_mode", mode)), config)
	}
}

// TestPgBouncer: a pooler in transaction mode gives each transaction another connection, which knows nothing of
// what was said on the last one.
func TestPgBouncer(t *testing.T) {
	for name, connect := range pooled {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := throughPgBouncer(t, 8, connect)
			f.livesThrough(f.orderOf)
			f.relaysBeside(4, 10)
		})
	}
	t.Run("conformance", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Store {
			return conformant{throughPgBouncer(t, 16, pooledIn("cache_describe")).store, false}
		})
	})
	t.Run("in_statement_mode_is_refused_with_advice", func(t *testing.T) {
		t.Parallel()
		address := testservices.PgBouncer(t)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal("parse PGBOUNCER_URL: want postgres://user:password@host:port/database")
		}
		u.Path += "_statement"
		direct := newFixture(t, open(t, postgres.Open(postgresAddress(t)), gorm.Config{}), 8, gormstore.Config{})
		db := open(t, postgres.Open(withParameter(t, u.String(), "default_query_exec_mode", "exec")), gorm.Config{})
		store, err := gormstore.Open(db, gormstore.Config{Schema: direct.schemaName()})
		if err != nil {
			t.Fatal(err)
		}
		pooled := &fixture{TB: t, db: db, store: store}
		if _, err := pooled.relay().tryAcquire(testLease); !errors.Is(err, gormstore.ErrPooler) {
			t.Errorf("a relay got %v, want ErrPooler", err)
		}
		err = store.Transaction(t.Context(), func(*gormstore.Tx) error { return nil })
		if !errors.Is(err, gormstore.ErrPooler) {
			t.Errorf("a writer got %v, want ErrPooler", err)
		}
	})
}

// throughPgBouncer is a fixture whose tables were made over a direct connection. A pooler passes no search path on, so
// each table is named with its schema.
func throughPgBouncer(
	t testing.TB, lanes int, connect func(t testing.TB, address string, config gorm.Config) *gorm.DB,
) *fixture {
	t.Helper()
	direct := newFixture(t, open(t, postgres.Open(quick(t)), gorm.Config{}), lanes, gormstore.Config{})
	name := direct.schemaName()
	db := connect(t, testservices.PgBouncer(t), gorm.Config{
		NamingStrategy: schema.NamingStrategy{TablePrefix: name + "."},
	})
	store, err := gormstore.Open(db, gormstore.Config{Schema: name, StrictKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{TB: t, db: db, store: store}
}

func (f *fixture) schemaName() string {
	f.Helper()
	var name string
	if err := f.db.Raw("SELECT current_schema()").Row().Scan(&name); err != nil {
		f.Fatal(err)
	}
	return name
}
