package gormstore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// second opens another store on the outbox of f, as another process would.
func (f *fixture) second() *gormstore.Store {
	f.Helper()
	return newFixture(f, open(f, f.db.Dialector, gorm.Config{}), 8, gormstore.Config{}).store
}

func (f *fixture) do(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func TestPause(t *testing.T) {
	topic := outbox.Scope{Topic: "orders"}
	t.Run("holds_for_a_relay_of_another_process_that_knew_of_none", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			r, other := f.started(), f.second()
			f.enqueue("a", "b")
			r.settle(r.claim(limit(1)), all(outbox.Delivered))
			f.do(other.Pause(t.Context(), because, topic))
			f.enqueue("a", "c")
			if c := r.claim(); len(c.Messages) != 0 {
				t.Errorf("claimed %d messages, want none", len(c.Messages))
			}
			f.do(other.Resume(t.Context(), because, topic))
			if c := r.claim(); len(c.Messages) != 3 {
				t.Errorf("claimed %d messages after the pause, want 3", len(c.Messages))
			}
		})
	})
	t.Run("holds_for_a_session_that_starts_later", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b")
			f.do(f.store.Pause(t.Context(), because, topic))
			if c := f.started().claim(); len(c.Messages) != 0 {
				t.Errorf("claimed %d messages, want none", len(c.Messages))
			}
		})
	})
	t.Run("is_left_behind_by_claims_that_follow", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			var keys []string
			for i := range 300 {
				keys = append(keys, fmt.Sprint(i))
			}
			f.enqueue(keys...)
			r := f.started()
			f.do(f.store.Pause(t.Context(), because, topic))
			f.eventually("setting all aside", func() bool { r.claim(limit(50)); return f.countReady() == 0 })
			f.do(f.store.Resume(t.Context(), because, topic))
			if c := r.claim(); len(c.Messages) != 300 {
				t.Errorf("claimed %d messages after the pause, want 300", len(c.Messages))
			}
		})
	})
	t.Run("of_everything_changes_no_message", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c")
			r := f.started()
			f.do(f.store.Pause(t.Context(), because, outbox.Scope{}))
			for range 3 {
				r.claim()
			}
			if n := f.countReady(); n != 3 {
				t.Errorf("%d messages are as they were, want 3", n)
			}
			f.do(f.store.Resume(t.Context(), because, outbox.Scope{}))
			if c := r.claim(); len(c.Messages) != 3 {
				t.Errorf("claimed %d messages after the pause, want 3", len(c.Messages))
			}
		})
	})
	t.Run("whose_end_was_interrupted_is_finished_by_Prune", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b")
			r := f.started()
			f.do(f.store.Pause(t.Context(), because, topic))
			r.claim()
			exec(t, f.db, "UPDATE outbox_pauses SET ending = true") // as far as a process came that was killed
			exec(t, f.db, "UPDATE outbox_lanes SET nudge = nudge + 1")
			if c := r.claim(); len(c.Messages) != 0 {
				t.Errorf("claimed %d messages that are set aside", len(c.Messages))
			}
			f.prune(10)
			if c := r.claim(); len(c.Messages) != 2 {
				t.Errorf("claimed %d messages, want 2", len(c.Messages))
			}
			if n := f.count("outbox_pauses"); n != 0 {
				t.Errorf("%d pauses are left", n)
			}
		})
	})
	t.Run("is_not_forgotten_while_another_makes_the_last_of_it_due", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b")
			r := f.started()
			f.do(f.store.Pause(t.Context(), because, topic))
			r.claim()
			other := f.writer().tx
			exec(t, other, "UPDATE outbox_messages SET available_at = "+f.now())
			f.do(f.store.Resume(t.Context(), because, topic))
			f.do(other.Rollback().Error)
			if c := r.claim(); len(c.Messages) != 0 {
				t.Errorf("claimed %d messages that are set aside", len(c.Messages))
			}
			f.prune(10)
			if c := r.claim(); len(c.Messages) != 2 {
				t.Errorf("claimed %d messages, want 2", len(c.Messages))
			}
			if n := f.count("outbox_pauses"); n != 0 {
				t.Errorf("%d pauses are left", n)
			}
		})
	})
	t.Run("is_recorded", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.do(f.store.Pause(t.Context(), because, topic))
			f.do(f.store.Resume(t.Context(), because, outbox.Scope{Key: "k"}))
			var got []struct{ By, Reason, Act, Topic, Subject string }
			text := "SELECT a.by, a.reason, a.act, a.topic, coalesce(a.key, '-') AS subject FROM outbox_audit a ORDER BY a.id"
			if err := f.db.Raw(text).Scan(&got).Error; err != nil {
				t.Fatal(err)
			}
			want := []struct{ By, Reason, Act, Topic, Subject string }{
				{"an operator", "a test", "pause", "orders", "-"}, {"an operator", "a test", "resume", "", "k"},
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("waits_for_a_claim_that_is_running", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{})
		f.enqueue("a", "b")
		r := f.started()
		tx := f.writer().tx
		exec(t, tx, "SELECT FROM outbox_lanes ORDER BY lane FOR SHARE") // as a claim does
		paused := background(func() (struct{}, error) { return struct{}{}, f.store.Pause(t.Context(), because, topic) })
		f.waiting(1, "FOR UPDATE")
		f.do(tx.Rollback().Error)
		f.do(await(f, paused).err)
		if c := r.claim(); len(c.Messages) != 0 {
			t.Errorf("claimed %d messages, want none", len(c.Messages))
		}
	})
}

func (f *fixture) countReady() int {
	f.Helper()
	var n int
	if err := f.db.Raw("SELECT count(*) FROM outbox_messages WHERE state = 0").Row().Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}
