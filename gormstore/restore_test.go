package gormstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// TestRestore: in a new cluster transaction ids begin again. What is stored must not hold any, and a relay must not
// carry over what it knew about them.
func TestRestore(t *testing.T) {
	t.Run("nothing_that_is_stored_is_an_id_of_a_transaction", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, open(t, postgres.Open(quick(t)), gorm.Config{}), 8, gormstore.Config{})
		made, err := f.store.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(made) {
			for _, kind := range []string{"xid", "snapshot", "pg_lsn", "tid", "cid"} {
				if _, form, _ := strings.Cut(line, ": "); strings.HasPrefix(line, "column") && strings.HasPrefix(form, kind) {
					t.Errorf("the tables hold %s", line)
				}
			}
		}
	})
	t.Run("delivers_what_was_dumped_and_what_comes_after_it_in_order", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, open(t, postgres.Open(quick(t)), gorm.Config{}), 8, gormstore.Config{})
		before := f.enqueue("gone")
		r := f.started()
		if diff := cmp.Diff(ids(before...), r.deliver()); diff != "" {
			t.Fatalf("delivered (-want +got):\n%s", diff)
		}
		parked, held := f.enqueue("held")[0], f.enqueue("held")[0]
		r.settle(r.claim(limit(1)), all(outbox.ParkKey))
		dumped := f.enqueue("a", "b", "a")

		restored := f.restored()
		after := restored.enqueue("a", "held")
		next := restored.relay()
		restored.eventually("the session of the dump to be over", func() bool {
			return len(next.acquire().Held) == 8
		})
		var want, got []string
		for _, m := range append(dumped, after[0]) {
			if m.Key == "a" {
				want = append(want, m.ID.String())
			}
		}
		c := next.claim()
		for _, m := range c.Messages {
			if m.Key == "a" {
				got = append(got, m.ID.String())
			}
			if m.Key == "held" {
				t.Errorf("%s was claimed behind the parked message %s, as was %s", m.ID, parked.ID, held.ID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("claimed of a (-want +got):\n%s", diff)
		}
		next.settle(c, all(outbox.Delivered))
		restored.act(restored.store.Requeue, parked)
		if diff := cmp.Diff(ids(parked, held, after[1]), append(next.deliver(), next.deliver()...)); diff != "" {
			t.Errorf("delivered after the requeue (-want +got):\n%s", diff)
		}
	})
}

// restored is another database with the rows of f, put there as a dump does. The session of the dump ended meanwhile.
func (f *fixture) restored() *fixture {
	f.Helper()
	admin := testservices.Postgres(f)
	name := testservices.Name("restored")
	from := f.direct(withParameter(f, admin, "search_path", f.schemaName()))
	run(f, from, "CREATE DATABASE "+name)
	f.Cleanup(func() { run(f, from, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(admin)
	if err != nil {
		f.Fatal("parse POSTGRES_URL: want postgres://user:password@host:port/database")
	}
	u.Path = name
	to := newFixture(f, open(f, postgres.Open(u.String()), gorm.Config{}), 8, gormstore.Config{})
	into := f.direct(u.String())
	for _, table := range []string{"meta", "lanes", "sessions", "claims", "blocks", "messages"} {
		table = "outbox_" + table
		var rows bytes.Buffer
		if _, err := from.PgConn().CopyTo(f.Context(), &rows, fmt.Sprintf("COPY %s TO STDOUT", table)); err != nil {
			f.Fatal(err)
		}
		run(f, into, "TRUNCATE "+table)
		if _, err := into.PgConn().CopyFrom(f.Context(), &rows, fmt.Sprintf("COPY %s FROM STDIN", table)); err != nil {
			f.Fatal(err)
		}
	}
	run(f, into, "SELECT setval('outbox_messages_seq_seq', (SELECT max(seq) FROM outbox_messages))")
	run(f, into, "UPDATE outbox_sessions SET expires_at = clock_timestamp()")
	return to
}

// direct is a connection past GORM, which ends after the test's other clean-ups.
func (f *fixture) direct(address string) *pgx.Conn {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), address)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, text string) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), text); err != nil {
		t.Fatal(err)
	}
}
