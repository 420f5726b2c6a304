package gormstore_test

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// TestMariaDB_plans counts the rows that statements read in a table of 60 000 ready messages, 6 000 that wait for their
// time, and 6 000 that are parked.
func TestMariaDB_plans(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openMariaDB(t, gorm.Config{}), 64, gormstore.Config{})
	pool, err := f.db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // the server counts by connection
	exec(t, f.db, `INSERT INTO outbox_messages (id, lane, state, available_at, created_at, topic, `+"`key`"+`, holds,
			type, version, content_type, payload, bytes)
		SELECT unhex(md5(i)), i % 1000 % 64, state, if(state = 1, 1000000000000000000, NULL), 1, 'orders',
			concat(if(state = 3, 'p', 'k'), i % 1000), if(state = 3, concat('p', i % 1000), NULL), 'order.placed', 1, '',
			repeat('x', 200), 200
		FROM (SELECT seq AS i, CASE seq % 12 WHEN 0 THEN 1 WHEN 1 THEN 3 ELSE 0 END AS state FROM seq_1_to_72000) s`)
	r := f.started()
	var c outbox.Claim
	f.reads("a claim", 8_000, func() { c = r.claim(limit(500)) })
	f.reads("a settle", 4_000, func() { r.settle(c, all(outbox.Delivered)) })
	f.reads("a claim behind the cursor", 8_000, func() { c = r.claim(limit(500)) })
	f.reads("a settle of failures", 8_000, func() {
		r.settle(c, all(outbox.Retry))
	})
	f.reads("a round of lanes", 1_000, func() { r.acquire() })
	f.reads("a page of parked messages", 20_000, func() {
		if _, err := f.store.Find(t.Context(), outbox.Filter{Status: outbox.StatusParked}, 0, 100); err != nil {
			t.Fatal(err)
		}
	})
	f.reads("a page of pending messages", 10_000, func() {
		if _, err := f.store.Find(t.Context(), outbox.Filter{Status: outbox.StatusPending}, 0, 100); err != nil {
			t.Fatal(err)
		}
	})
	f.reads("one message by its id", 100, func() {
		found, err := f.store.Find(t.Context(), outbox.Filter{ID: c.Messages[0].ID}, 0, 100)
		if err != nil || len(found) != 1 {
			t.Errorf("found %d, %v; want one", len(found), err)
		}
	})
	f.reads("failures", 60_000, func() {
		if _, err := f.store.Failures(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	f.reads("pruning", 100, func() {
		if _, err := f.store.Prune(context.Background(), 100); err != nil {
			t.Fatal(err)
		}
	})
}

// reads holds a call to a number of rows, and of steps in an index.
func (f *fixture) reads(what string, most int, call func()) {
	f.Helper()
	before := f.handled()
	call()
	if n := f.handled() - before; n > most {
		f.Errorf("%s read %d rows, want at most %d", what, n, most)
	} else {
		f.Logf("%s read %d rows", what, n)
	}
}

func (f *fixture) handled() int {
	f.Helper()
	var n int
	row := f.db.Raw(`SELECT sum(variable_value) FROM information_schema.session_status
		WHERE variable_name LIKE 'Handler_read%'`).Row()
	if err := row.Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}
