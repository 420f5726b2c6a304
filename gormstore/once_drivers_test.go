package gormstore_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/postroom/postroom/gormstore"
)

// TestOnceDrivers: what is done once is done once by every way to reach PostgreSQL.
func TestOnceDrivers(t *testing.T) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, open(t, postgresAddress(t)), 1, gormstore.Config{})
			if err := f.db.AutoMigrate(&product{}); err != nil {
				t.Fatal(err)
			}
			for range 70 { // sweeps included
				f.reserve(uuid.NewString())
			}
			if err := f.request(nil); err != nil { // and again
				t.Fatal(err)
			}
			for _, want := range []bool{true, false} {
				f.once("ship", "m-1", func(ctx context.Context) error { return f.store.Enqueue(ctx, message("k")) }, want)
			}
			pool, err := f.db.DB() // which no resolver sends elsewhere
			if err != nil {
				t.Fatal(err)
			}
			var messages int
			row := pool.QueryRowContext(t.Context(), "SELECT count(*) FROM outbox_messages")
			if err := row.Scan(&messages); err != nil || messages != 2 {
				t.Errorf("%d messages, %v; want that of the request and that of the handler", messages, err)
			}
		})
	}
}
