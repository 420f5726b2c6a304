package gormstore_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// plan is a node of what EXPLAIN says.
type plan struct {
	Node     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Loops    float64 `json:"Actual Loops"`
	Hit      int     `json:"Shared Hit Blocks"`
	Fetched  int     `json:"Shared Read Blocks"`
	Plans    []plan
}

// explain runs a statement and returns its plan.
func (f *fixture) explain(text string, args ...any) plan {
	f.Helper()
	pool, err := f.db.DB()
	if err != nil {
		f.Fatal(err)
	}
	var out string
	row := pool.QueryRowContext(f.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+text, args...)
	if err := row.Scan(&out); err != nil {
		f.Fatal(err)
	}
	var plans []struct{ Plan plan }
	if err := json.Unmarshal([]byte(out), &plans); err != nil {
		f.Fatal(err)
	}
	return plans[0].Plan
}

// read returns how many rows of a table the plan looked at, and whether it read all of it.
func (p plan) read(table string) (rows int, all bool) {
	if p.Relation == table {
		rows = int((p.Rows + p.Removed) * p.Loops)
		all = strings.HasPrefix(p.Node, "Seq Scan")
	}
	for _, child := range p.Plans {
		n, every := child.read(table)
		rows, all = rows+n, all || every
	}
	return rows, all
}

// wantRead holds a plan to reading no more than most messages, by an index.
func (f *fixture) wantRead(p plan, most int) {
	f.Helper()
	rows, all := p.read("outbox_messages")
	if all || rows > most {
		f.Errorf("read %d messages, all of them: %v; want at most %d, by an index", rows, all, most)
	}
}

// TestExplain looks at what statements read of a large table.
func TestExplain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openPostgres(t, gorm.Config{}), 64, gormstore.Config{})
	m := f.enqueue("k")[0]
	f.burst(200_000)
	exec(t, f.db, `UPDATE outbox_messages SET state = 3 WHERE seq % 1000 = 0`)
	exec(t, f.db, "ANALYZE outbox_messages")
	t.Run("Backlog_stops_at_its_cap", func(t *testing.T) {
		f.wantRead(f.explain(f.store.BacklogSQL(), 1000, 64_000), 64_000+200)
		b, err := f.store.Backlog(t.Context())
		if err != nil || !b.Capped {
			t.Errorf("got %+v, %v; want a backlog that says it is capped", b, err)
		}
	})
	t.Run("Find_reads_a_page_of_each_lane", func(t *testing.T) {
		for _, status := range []outbox.Status{"", outbox.StatusPending, outbox.StatusParked} {
			text, args := f.store.FindSQL(outbox.Filter{Status: status}, 10)
			f.wantRead(f.explain(text, args...), 64*10+10*4+200)
		}
	})
	t.Run("Find_reads_nothing_where_nothing_can_be_held_or_paused", func(t *testing.T) {
		for _, status := range []outbox.Status{outbox.StatusHeld, outbox.StatusPaused} {
			text, args := f.store.FindSQL(outbox.Filter{Status: status}, 10)
			f.wantRead(f.explain(text, args...), 0)
		}
	})
	t.Run("Find_by_id_reads_one_message", func(t *testing.T) {
		for _, status := range []outbox.Status{"", outbox.StatusPending, outbox.StatusInFlight} {
			text, args := f.store.FindSQL(outbox.Filter{ID: m.ID, Status: status}, 10)
			f.wantRead(f.explain(text, args...), 2)
		}
	})
	t.Run("Failures_stop_at_their_cap", func(t *testing.T) {
		exec(t, f.db, `UPDATE outbox_messages SET state = 2, attempts = 1, available_at = now() WHERE state = 0`)
		exec(t, f.db, "ANALYZE outbox_messages")
		f.wantRead(f.explain(f.store.FailuresSQL(), 20_000/64, 20_000), 20_000+200)
		failures, err := f.store.Failures(t.Context())
		if err != nil || !failures.Capped {
			t.Errorf("got %+v, %v; want failures that say they are capped", failures, err)
		}
	})
	t.Run("Audit_reads_a_page", func(t *testing.T) {
		exec(t, f.db, `INSERT INTO outbox_audit (by, reason, act, message, topic)
			SELECT 'me', 'why', 'requeue', id, topic FROM outbox_messages`)
		exec(t, f.db, "ANALYZE outbox_audit")
		all, of := f.store.AuditSQL()
		if rows, _ := f.explain(all, int64(math.MaxInt64), 10).read("outbox_audit"); rows > 10 {
			t.Errorf("a page of all reads %d rows, want those it shows", rows)
		}
		if rows, _ := f.explain(of, int64(math.MaxInt64), m.ID.String(), 10).read("outbox_audit"); rows != 1 {
			t.Errorf("the acts on one message read %d rows, want one", rows)
		}
	})
	t.Run("Prune_reads_what_it_removes", func(t *testing.T) {
		exec(t, f.db, `INSERT INTO outbox_archive (delivered_at, id, seq, lane, attempts, failures, version, uncertain,
			created_at, topic, type, content_type, transport, tenant)
			SELECT now() - i * interval '1 second', gen_random_uuid(), i, 0, 0, 0, 1, false, now(), 't', 'T', '', '', ''
			FROM generate_series(1, 100000) i`)
		exec(t, f.db, "ANALYZE outbox_archive")
		p := f.explain(f.store.PurgeSQL(), time.Hour.Microseconds(), 1000)
		if rows, all := p.read("outbox_archive"); all || rows > 3*1000 {
			t.Errorf("read %d rows, all of them: %v; want those it removes", rows, all)
		}
	})
}
