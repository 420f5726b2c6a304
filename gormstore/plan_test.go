package gormstore_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// TestPlans is the life of every outbox: statements are prepared while the table is empty, and then a burst comes.
func TestPlans(t *testing.T) {
	t.Run("made_on_an_empty_table_serve_a_burst", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 64, gormstore.Config{})
		pool, err := f.db.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1) // so that every plan is the one prepared here
		exec(t, f.db, "ANALYZE outbox_messages")
		r := f.started()
		for range 10 { // PostgreSQL keeps a plan for good after five
			f.enqueue("k")
			r.settle(r.claim(), all(outbox.Delivered))
			r.claim()
		}
		exec(t, f.db, "DELETE FROM outbox_messages")
		exec(t, f.db, "ANALYZE outbox_messages")
		f.burst(300_000)
		for i := range 5 {
			claimed, settled := r.timed()
			t.Logf("claim of 500 %v, settle %v", claimed, settled)
			if i >= 2 && claimed+settled > 100*time.Millisecond {
				t.Errorf("claim %d took %v and its settle %v: the plan reads the whole table", i, claimed, settled)
			}
		}
	})
}

// burst commits n messages over a thousand keys, as Enqueue would store them.
func (f *fixture) burst(n int) {
	f.Helper()
	exec(f, f.db, `INSERT INTO outbox_messages (id, lane, topic, key, type, version, content_type, payload)
		SELECT gen_random_uuid(), i % 1000 % 64, 'orders', 'k' || i % 1000, 'order.placed', 1, 'text/plain',
			decode(repeat('00', 200), 'hex')
		FROM generate_series(1, ?) i`, n)
}

// timed claims and delivers a batch.
func (r *relay) timed() (claimed, settled time.Duration) {
	r.Helper()
	start := time.Now()
	c := r.claim()
	claimed = time.Since(start)
	if len(c.Messages) != 500 {
		r.Fatalf("claimed %d messages, want 500", len(c.Messages))
	}
	start = time.Now()
	r.settle(c, all(outbox.Delivered))
	return claimed, time.Since(start)
}
