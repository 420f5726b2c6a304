package gormstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/storetest"
)

// TestStore runs what every store must do.
func TestStore(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Store {
				s := conformant{newFixture(t, open(t, gorm.Config{}), 16, gormstore.Config{}).store, name == "sqlite"}
				return s
			})
		})
	}
}

// TestStore_neighbours: two outboxes of each case stand in one schema with an odd name, and are busy at once.
func TestStore_neighbours(t *testing.T) {
	address := quick(t)
	name := testservices.Name(`Two "outboxes"`)
	admin := open(t, postgres.Open(address), gorm.Config{})
	exec(t, admin, fmt.Sprintf(`CREATE SCHEMA %s`, quoted(name)))
	if err := admin.AutoMigrate(&order{}); err != nil { // which all of them would make at once
		t.Fatal(err)
	}
	t.Cleanup(func() { exec(t, admin, fmt.Sprintf(`DROP SCHEMA %s CASCADE`, quoted(name))) })
	var count atomic.Int64
	for _, which := range []string{"one", "other"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Store {
				config := gormstore.Config{Schema: name, Name: fmt.Sprint("Outbox_", count.Add(1))}
				return conformant{newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 16, config).store, false}
			})
		})
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// conformant says what the kit cannot see.
type conformant struct {
	*gormstore.Store
	single bool
}

// SingleWriter reports whether a second write transaction has to wait for the first.
func (c conformant) SingleWriter() bool { return c.single }

// TestIsolation: a database whose default is stricter must not turn a claim or a heartbeat that waited into an error.
func TestIsolation(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			address := postgresAddress(t)
			db := open(t, postgres.Open(withParameter(t, address, "default_transaction_isolation", level)), gorm.Config{})
			f := newFixture(t, db, 8, gormstore.Config{})
			f.enqueue("a", "b")
			r := f.started()
			tx := f.writer().tx
			exec(t, tx, "UPDATE outbox_lanes SET nudge = nudge + 1")
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), r.request()) })
			f.waiting(1, "WITH mine")
			if err := tx.Commit().Error; err != nil {
				t.Fatal(err)
			}
			if c := await(f, claimed); c.err != nil || len(c.value.Messages) != 2 {
				t.Errorf("claimed %d messages, %v; want 2", len(c.value.Messages), c.err)
			}
			tx = f.writer().tx
			exec(t, tx, "UPDATE outbox_sessions SET relay = 'another'")
			renewed := background(func() (any, error) { return nil, f.store.RenewLanes(t.Context(), r.id, testLease) })
			f.waiting(1, "SET expires_at")
			f.do(tx.Commit().Error)
			f.do(await(f, renewed).err)
		})
	}
}
