package main

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// testDatabase is one of the test's own, which ends with it.
type testDatabase struct {
	testing.TB
	url   string
	db    *gorm.DB
	store *gormstore.Store
}

// newPostgreSQL makes a database without tables.
func newPostgreSQL(tb testing.TB) *testDatabase {
	tb.Helper()
	return newDatabase(tb, testservices.Postgres(tb), `CREATE DATABASE "%s"`, `DROP DATABASE "%s" WITH (FORCE)`)
}

// newMariaDB makes a database without tables.
func newMariaDB(tb testing.TB) *testDatabase {
	tb.Helper()
	return newDatabase(tb, testservices.MariaDB(tb), "CREATE DATABASE `%s`", "DROP DATABASE `%s`")
}

func newDatabase(tb testing.TB, server, create, drop string) *testDatabase {
	tb.Helper()
	name := testservices.Name("postroom")
	admin := openDatabase(tb, server)
	execute(tb, admin, fmt.Sprintf(create, name))
	tb.Cleanup(func() { execute(tb, admin, fmt.Sprintf(drop, name)) })
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal("the address of the server is no URL")
	}
	u.Path = "/" + name
	d := &testDatabase{TB: tb, url: u.String(), db: openDatabase(tb, u.String())}
	if d.store, err = gormstore.Open(d.db, gormstore.Config{}); err != nil {
		tb.Fatal(err)
	}
	return d
}

func openDatabase(tb testing.TB, address string) *gorm.DB {
	tb.Helper()
	db, err := database.Open(address, 4)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = database.Close(db) })
	return db
}

func execute(tb testing.TB, db *gorm.DB, statement string, args ...any) {
	tb.Helper()
	if err := db.WithContext(context.WithoutCancel(tb.Context())).Exec(statement, args...).Error; err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// migrate makes the tables.
func (d *testDatabase) migrate() *testDatabase {
	d.Helper()
	if err := gormstore.Migrate(d.Context(), d.db, gormstore.MigrateConfig{Lanes: 8}); err != nil {
		d.Fatal(err)
	}
	return d
}

// enqueue commits messages together.
func (d *testDatabase) enqueue(messages ...*outbox.Message) {
	d.Helper()
	err := d.store.Transaction(d.Context(), func(tx *gormstore.Tx) error { return tx.Enqueue(d.Context(), messages...) })
	if err != nil {
		d.Fatal(err)
	}
}

// count counts the rows of one of the outbox's tables.
func (d *testDatabase) count(table string) (n int) {
	d.Helper()
	if err := d.db.Raw("SELECT count(*) FROM outbox_" + table).Scan(&n).Error; err != nil {
		d.Fatal(err)
	}
	return n
}

// message is one of a topic and key.
func message(topic, key string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.Must(uuid.NewV7()), Topic: topic, Key: key, Type: "order.placed", Payload: []byte(`{}`),
	}
}
