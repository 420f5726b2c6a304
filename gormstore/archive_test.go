package gormstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// onEachKeeping runs check on every database, with a store that keeps what was delivered for an hour.
func onEachKeeping(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{Archive: time.Hour}))
		})
	}
}

// agedBy makes all that is in the archive an age of d.
func (f *fixture) agedBy(d time.Duration) {
	f.Helper()
	if f.db.Name() == "postgres" {
		exec(f, f.db, "UPDATE outbox_archive SET delivered_at = delivered_at - ? * interval '1 second'", d.Seconds())
	} else {
		exec(f, f.db, "UPDATE outbox_archive SET delivered_at = delivered_at - ?", d.Microseconds())
	}
}

func (f *fixture) prune(limit int) int {
	f.Helper()
	n, err := f.store.Prune(f.Context(), limit)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func TestArchive(t *testing.T) {
	t.Run("keeps_what_was_delivered_as_it_was", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			m := message("a")
			m.Tenant, m.ContentType, m.Headers = "n", "text/plain", []outbox.Header{{Name: "x", Value: "1"}}
			f.store1(m)
			r := f.started()
			r.settle(r.claim(), all(outbox.Delivered))
			var got struct{ Topic, Key, Type, Tenant, ContentType, Payload string }
			err := f.db.Raw(`SELECT topic, a.key, type, tenant, content_type, payload FROM outbox_archive a
				WHERE id = ? AND delivered_at >= created_at AND headers IS NOT NULL`, f.key(m.ID)).Scan(&got).Error
			if err != nil {
				t.Fatal(err)
			}
			want := got
			want.Topic, want.Key, want.Type, want.Tenant = "orders", "a", "order.placed", "n"
			want.ContentType, want.Payload = "text/plain", "payload of a"
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if n := f.count("outbox_messages"); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	})
	t.Run("keeps_those_of_a_claim_that_were_delivered_and_no_others", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b", "c", "d")
			r := f.started()
			c := r.claim()
			decide := func(m *outbox.Claimed) outbox.Outcome {
				return outbox.Outcome{Verdict: map[string]outbox.Verdict{
					"a": outbox.Delivered, "b": outbox.ParkKey, "d": outbox.Delivered,
				}[m.Key]}
			}
			r.settle(c, decide)
			if n := f.count("outbox_archive"); n != 2 {
				t.Errorf("%d messages in the archive, want 2", n)
			}
			if _, err := f.store.Settle(t.Context(), c, outcomes(c, decide)); !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("a repeated settle: got %v, want ErrClaimLost", err)
			}
			if n := f.count("outbox_archive"); n != 2 {
				t.Errorf("%d messages in the archive after a repeated settle, want 2", n)
			}
		})
	})
	t.Run("takes_an_id_that_comes_again", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			r, id := f.started(), uuid.New()
			for range 2 {
				m := message("a")
				m.ID = id
				f.store1(m)
				r.settle(r.claim(), all(outbox.Delivered))
			}
			if n := f.count("outbox_archive"); n != 2 {
				t.Errorf("%d messages in the archive, want 2", n)
			}
		})
	})
	t.Run("is_empty_unless_asked_for", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b")
			r := f.started()
			r.settle(r.claim(limit(1)), all(outbox.Delivered))
			r.settle(r.claim(), all(outbox.Delivered))
			if n := f.count("outbox_archive"); n != 0 {
				t.Errorf("%d messages in the archive, want none", n)
			}
		})
	})
	t.Run("is_not_kept_for_a_negative_time", func(t *testing.T) {
		_, err := gormstore.Open(openSQLite(t, gorm.Config{}), gormstore.Config{Archive: -time.Second})
		if e, ok := errors.AsType[*outbox.FieldError](err); !ok || e.Field != "Archive" {
			t.Errorf("got %v, want a FieldError of Archive", err)
		}
	})
}

func TestPrune(t *testing.T) {
	t.Run("removes_the_oldest_of_what_is_past_its_time", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			r := f.started()
			f.enqueue("a", "b", "c")
			r.settle(r.claim(), all(outbox.Delivered))
			f.agedBy(time.Minute)
			f.enqueue("young")
			r.settle(r.claim(), all(outbox.Delivered))
			f.agedBy(time.Hour - time.Minute/2)
			if n, m := f.prune(2), f.prune(2); n != 2 || m != 1 {
				t.Errorf("removed %d and %d messages, want 2 and 1", n, m)
			}
			var left []string
			if err := f.db.Raw("SELECT a.key FROM outbox_archive a").Scan(&left).Error; err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"young"}, left); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("leaves_an_archive_alone_that_others_fill", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			other := newFixture(t, open(t, f.db.Dialector, gorm.Config{}), 8, gormstore.Config{Archive: time.Hour})
			r := other.started()
			f.enqueue("a")
			r.settle(r.claim(), all(outbox.Delivered))
			f.agedBy(2 * time.Hour)
			if n := f.prune(10); n != 0 || f.count("outbox_archive") != 1 {
				t.Errorf("removed %d messages, want none", n)
			}
			if n, err := f.store.PurgeArchive(t.Context(), time.Hour, 10); n != 1 || err != nil {
				t.Errorf("PurgeArchive removed %d messages, %v; want 1", n, err)
			}
		})
	})
	t.Run("forgets_sessions_that_ended_long_ago_and_no_others", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			living, stopped, old := f.started(), f.started(), f.started()
			for _, r := range []*relay{stopped, old} {
				if err := f.store.ReleaseLanes(t.Context(), r.id); err != nil {
					t.Fatal(err)
				}
			}
			if f.db.Name() == "postgres" {
				exec(t, f.db, "UPDATE outbox_sessions SET stopped_at = stopped_at - interval '8 days' WHERE id = ?", f.key(old.id))
			} else {
				exec(t, f.db, "UPDATE outbox_sessions SET stopped_at = stopped_at - 8 * 86400000000 WHERE id = ?", f.key(old.id))
			}
			f.prune(10)
			for _, r := range []*relay{living, stopped, old} {
				var n int
				if err := f.db.Raw("SELECT count(*) FROM outbox_sessions WHERE id = ?", f.key(r.id)).Row().Scan(&n); err != nil {
					t.Fatal(err)
				}
				if (n == 1) != (r != old) {
					t.Errorf("%d rows of session %v", n, r.id)
				}
			}
			living.acquire() // and it goes on
		})
	})
	t.Run("waits_for_nobody", func(t *testing.T) {
		f := newFixture(t, openPostgres(t, gorm.Config{}), 8, gormstore.Config{Archive: time.Hour})
		r := f.started()
		f.enqueue("a", "b", "c")
		r.settle(r.claim(), all(outbox.Delivered))
		f.agedBy(2 * time.Hour)
		tx := f.writer().tx
		exec(t, tx, "SELECT 1 FROM outbox_archive WHERE key = 'a' FOR UPDATE")
		if n := f.prune(10); n != 2 {
			t.Errorf("removed %d messages beside one that is locked, want 2", n)
		}
		if err := tx.Rollback().Error; err != nil {
			t.Fatal(err)
		}
		if n := f.prune(10); n != 1 {
			t.Errorf("removed %d messages, want 1", n)
		}
	})
	t.Run("never_meets_those_who_deliver_in_a_deadlock", func(t *testing.T) {
		onEachKeeping(t, func(t *testing.T, f *fixture) {
			r := f.started()
			for i := range 20 {
				f.enqueue(fmt.Sprint(i))
				r.settle(r.claim(), all(outbox.Delivered))
			}
			f.agedBy(2 * time.Hour)
			var purgers sync.WaitGroup
			for range 3 {
				purgers.Go(func() {
					for range 10 {
						if _, err := f.store.Prune(t.Context(), 2); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for i := range 20 {
				f.enqueue(fmt.Sprint("new", i))
				r.settle(r.claim(), all(outbox.Delivered))
			}
			purgers.Wait()
			f.eventually("an archive of what is new", func() bool { f.prune(10); return f.count("outbox_archive") == 20 })
		})
	})
}
