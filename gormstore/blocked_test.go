package gormstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// gate makes claims of f wait just before they are recorded, until it is opened.
func (f *fixture) gate() (open func()) {
	f.Helper()
	key := time.Now().UnixNano()
	if f.db.Name() == "mysql" {
		return f.gateMariaDB(key)
	}
	exec(f, f.db, fmt.Sprintf(`CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock(%d); RETURN NEW; END $$`, key))
	exec(f, f.db, "CREATE TRIGGER gate BEFORE INSERT ON outbox_claims FOR EACH ROW EXECUTE FUNCTION gate()")
	conn := f.conn()
	if _, err := conn.ExecContext(f.Context(), fmt.Sprintf("SELECT pg_advisory_lock(%d)", key)); err != nil {
		f.Fatal(err)
	}
	return func() {
		f.Helper()
		if _, err := conn.ExecContext(f.Context(), fmt.Sprintf("SELECT pg_advisory_unlock(%d)", key)); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fixture) conn() *sql.Conn {
	f.Helper()
	pool, err := f.db.DB()
	if err != nil {
		f.Fatal(err)
	}
	conn, err := pool.Conn(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	return conn
}

// waiting waits until n statements that contain text wait for a lock.
func (f *fixture) waiting(n int, text string) {
	f.Helper()
	if f.db.Name() == "mysql" {
		f.waitingMariaDB(n, text)
		return
	}
	var schema string
	if err := f.db.Raw("SELECT current_schema()").Row().Scan(&schema); err != nil {
		f.Fatal(err)
	}
	f.eventually(text+" to wait", func() bool {
		var got int
		row := f.db.Raw(`SELECT count(DISTINCT a.pid) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
			JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace s ON s.oid = c.relnamespace
			WHERE a.wait_event_type = 'Lock' AND s.nspname = ? AND a.query LIKE ?`, schema, "%"+text+"%").Row()
		if err := row.Scan(&got); err != nil {
			f.Fatal(err)
		}
		return got == n
	})
}

// result is what a call in the background returned.
type result[T any] struct {
	value T
	err   error
}

func background[T any](call func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	go func() {
		v, err := call()
		c <- result[T]{v, err}
	}()
	return c
}

func await[T any](f *fixture, c <-chan result[T]) result[T] {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second)
	defer cancel()
	select {
	case r := <-c:
		return r
	case <-ctx.Done():
		f.Fatal("a call did not return")
		return result[T]{}
	}
}

// marks are what locks have left behind in the lanes.
func (f *fixture) marks() (marks string) {
	f.Helper()
	query := f.db.Raw("SELECT string_agg(xmax::text, ',' ORDER BY lane) FROM outbox_lanes")
	if err := query.Scan(&marks).Error; err != nil {
		f.Fatal(err)
	}
	return marks
}
