//go:build soak

package debezium

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/postroom/postroom/internal/testservices"
)

// prefix begins the names of all that the tests make: databases, roles, slots and connectors.
const prefix = "postroom_debezium"

// server is the PostgreSQL server, for one test at a time.
type server struct {
	testing.TB
	admin *sql.Conn
}

// claimServer waits until no other test has the server, and drops what killed ones have left there and in Connect.
func claimServer(t testing.TB) server {
	t.Helper()
	pool, err := sql.Open("pgx", testservices.Postgres(t))
	must(t, err)
	admin, err := pool.Conn(within(t))
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()); must(t, pool.Close()) })
	s := server{t, admin}
	s.exec(`SELECT pg_advisory_lock(hashtext($1))`, prefix)
	s.dropLeftOvers()
	return s
}

func (s server) dropLeftOvers() {
	s.Helper()
	c := connector{s, testservices.Connect(s) + "/connectors"}
	code, answer := c.call(http.MethodGet, "", nil)
	if code != http.StatusOK {
		s.Fatalf("list connectors: status %d: %s", code, answer)
	}
	var connectors []string
	must(s, json.Unmarshal(answer, &connectors))
	for _, name := range connectors {
		if strings.HasPrefix(name, prefix) {
			connector{s, c.url + "/" + name}.remove()
		}
	}
	for _, slot := range s.list(`SELECT slot_name FROM pg_replication_slots WHERE starts_with(slot_name, $1)`, prefix) {
		s.dropSlot(slot)
	}
	for _, name := range s.list(`SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, prefix) {
		s.exec("DROP DATABASE " + quote(name) + " WITH (FORCE)")
	}
	for _, name := range s.list(`SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)`, prefix) {
		s.exec("DROP ROLE " + quote(name))
	}
}

// dropSlot drops a slot that may be in use, and may be gone.
func (s server) dropSlot(name string) {
	s.Helper()
	if what := wait(func() string { return s.tryDropSlot(name) }); what != "" {
		s.Errorf("the replication slot %s is left and keeps WAL for ever: %s", name, what)
	}
}

func (s server) tryDropSlot(name string) (missing string) {
	const end = `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active`
	const drop = `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`
	for _, text := range []string{end, drop} {
		if _, err := s.admin.ExecContext(within(s), text, name); err != nil {
			return err.Error()
		}
	}
	if left := s.list(`SELECT slot_name FROM pg_replication_slots WHERE slot_name = $1`, name); len(left) > 0 {
		return "it is still there"
	}
	return ""
}

// makeDatabase makes a database, and drops it with its role of the same name and its slot.
func (s server) makeDatabase(name string) {
	s.Helper()
	s.exec("CREATE DATABASE " + quote(name))
	s.Cleanup(func() {
		s.dropSlot(name)
		s.exec("DROP DATABASE " + quote(name) + " WITH (FORCE)")
		s.exec("DROP ROLE IF EXISTS " + quote(name))
	})
}

func (s server) exec(text string, args ...any) {
	s.Helper()
	if _, err := s.admin.ExecContext(within(s), text, args...); err != nil {
		s.Fatalf("%s: %v", text, err)
	}
}

// list is the first column of an answer, as text.
func (s server) list(text string, args ...any) (values []string) {
	s.Helper()
	rows, err := s.admin.QueryContext(within(s), text, args...)
	must(s, err)
	defer rows.Close()
	for rows.Next() {
		var value string
		must(s, rows.Scan(&value))
		values = append(values, value)
	}
	must(s, rows.Err())
	return values
}

// passed waits until the slot has confirmed all that is in the WAL now.
func (s server) passed(slot string) {
	s.Helper()
	now := s.list(`SELECT pg_current_wal_lsn()::text`)[0]
	eventually(s, func() string {
		at := s.list(`SELECT confirmed_flush_lsn::text FROM pg_replication_slots
WHERE slot_name = $1 AND confirmed_flush_lsn < $2::pg_lsn`, slot, now)
		if len(at) == 0 {
			return ""
		}
		return fmt.Sprintf("the slot has confirmed %s and not %s", at[0], now)
	})
}

// idle waits until nobody reads the slot.
func (s server) idle(slot string) {
	s.Helper()
	eventually(s, func() string {
		if s.list(`SELECT slot_name FROM pg_replication_slots WHERE slot_name = $1 AND active`, slot) != nil {
			return "the slot is in use"
		}
		return ""
	})
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
