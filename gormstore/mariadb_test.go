package gormstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func onMariaDB(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, openMariaDB(t, gorm.Config{}), 8, gormstore.Config{})
}

// What MariaDB's rule for late commits rests on, see mysql_late.go.
func TestMariaDB_late_commit(t *testing.T) {
	t.Run("between_a_claims_two_looks_is_found_by_the_next", func(t *testing.T) {
		t.Parallel()
		f := onMariaDB(t)
		r := f.started()
		t1 := f.writer()
		late := t1.enqueue("k")
		for range 2 { // the bound that follows one claim behind passes it, too
			f.enqueue(sameLane("k"))
			r.deliver()
		}
		early := f.enqueue(sameLane("k"))
		open := f.gate()
		claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), r.request()) })
		f.waiting(1, f.gated()) // it has read, and has not looked again
		t1.commit()
		open()
		c := await(f, claimed)
		if diff := cmp.Diff(ids(early...), idsOf(c.value)); diff != "" || c.err != nil {
			t.Fatalf("claimed %v (-want +got):\n%s", c.err, diff)
		}
		r.settle(c.value, all(outbox.Delivered))
		after := f.enqueue("k")[0]
		if diff := cmp.Diff(ids(late, after), r.deliver()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
	t.Run("holds_the_cursor_of_its_lane_until_it_is_over_and_no_longer", func(t *testing.T) {
		t.Parallel()
		f := onMariaDB(t)
		r := f.started()
		key, lane := "k", outbox.LaneOf(message("k"), 8)
		f.enqueue(key)
		r.deliver()
		start := f.store.Cursor(r.id, lane)
		t1 := f.writer()
		t1.enqueue(key)
		for range 3 {
			f.enqueue(sameLane(key))
			r.deliver()
			if now := f.store.Cursor(r.id, lane); now != start {
				t.Fatalf("the cursor went from %d to %d, past an open transaction", start, now)
			}
		}
		if err := t1.tx.Rollback().Error; err != nil {
			t.Fatal(err)
		}
		f.enqueue(key)
		r.deliver()
		if now := f.store.Cursor(r.id, lane); now < start+4 {
			t.Errorf("the cursor stands at %d, want above what was delivered", now)
		}
	})
	for name, guard := range map[string]bool{"the_lock_of_numbers": false, "a_lock_of_its_own": true} {
		t.Run("never_has_a_number_without_a_row_by_"+name, func(t *testing.T) {
			t.Parallel()
			f := onMariaDB(t)
			if guard {
				f.enqueue("first") // the check of the tables is over
				f.store.GuardInserts()
			}
			before := f.count("outbox_messages")
			repeated := message("k")
			repeated.ID[15] = 1 // below all others, which its lock leaves alone then
			holder := f.writer()
			if err := f.store.In(holder.tx).Enqueue(t.Context(), repeated); err != nil {
				t.Fatal(err)
			}
			// t1 has its number, and waits for the holder of the same id before its row is in every index.
			slow := message("k")
			slow.ID = repeated.ID
			t1 := f.writer()
			first := background(func() (int, error) { return 0, f.store.In(t1.tx).Enqueue(t.Context(), slow) })
			f.waiting(1, "INSERT INTO")
			second := background(func() (int, error) {
				return 0, f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
					return tx.Enqueue(t.Context(), message(sameLane("k")), message(sameLane("k")))
				})
			})
			if guard || f.interleaved() {
				f.waiting(1, "GET_LOCK")
			} else {
				f.waiting(2, "INSERT INTO")
			}
			if n := f.count("outbox_messages"); n != before {
				t.Errorf("%d messages are stored by who came later", n-before)
			}
			if err := holder.tx.Rollback().Error; err != nil {
				t.Fatal(err)
			}
			if r := await(f, first); r.err != nil {
				t.Error(r.err)
			}
			t1.commit() // its look for the id has locked others, too
			if r := await(f, second); r.err != nil {
				t.Error(r.err)
			}
		})
	}
}

// interleaved reports whether the server gives numbers without its lock, as MySQL does by default.
func (f *fixture) interleaved() bool {
	f.Helper()
	var mode int
	if err := f.db.Raw("SELECT @@innodb_autoinc_lock_mode").Row().Scan(&mode); err != nil {
		f.Fatal(err)
	}
	return mode == 2
}

// TestMariaDB_locks: what is open holds up nobody who does not need it.
func TestMariaDB_locks(t *testing.T) {
	t.Run("of_writers_stop_no_claim_and_no_settle", func(t *testing.T) {
		t.Parallel()
		f := impatient(t)
		r := f.started()
		f.enqueue("a", "b", "c", "d", "e")
		t1 := f.writer() // with rows beside all others, in every index
		for i := range 20 {
			t1.enqueue(fmt.Sprint("open", i))
		}
		c := r.claim()
		r.settle(c, func(m *outbox.Claimed) outbox.Outcome {
			return outbox.Outcome{Verdict: map[string]outbox.Verdict{
				"a": outbox.Delivered, "b": outbox.Retry, "c": outbox.ParkKey, "d": outbox.ParkOne,
			}[m.Key], Class: outbox.ClassRefused}
		})
		f.act(f.store.Requeue, messageOf(c, "c"))
		f.act(f.store.Discard, messageOf(c, "d"))
		r.deliver()
		t1.commit()
	})
	t.Run("of_a_claim_stop_no_writer", func(t *testing.T) {
		t.Parallel()
		f := impatient(t)
		r := f.started()
		f.enqueue("a", "b")
		open := f.gate()
		claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), r.request()) })
		f.waiting(1, f.gated())
		f.enqueue("a", "b", "c")
		open()
		if c := await(f, claimed); c.err != nil || len(c.value.Messages) != 2 {
			t.Errorf("claimed %d messages, %v; want 2", len(c.value.Messages), c.err)
		}
	})
	t.Run("in_a_deadlock_are_taken_again_by_the_store", func(t *testing.T) {
		t.Parallel()
		f := onMariaDB(t)
		m := f.enqueue("a", "b")
		r := f.started()
		c := r.claim()
		tx := f.writer().tx // locks b, and then waits for a; the settle has a, and waits for b
		exec(t, tx, "UPDATE outbox_messages SET attempts = attempts + 0 WHERE id = ?", f.key(m[1].ID))
		for i := range 50 { // what has done more is not the one to be rolled back
			exec(t, tx, "INSERT INTO orders (id) VALUES (?)", fmt.Sprint("weight", i))
		}
		settled := background(func() (int, error) {
			return f.store.Settle(t.Context(), c, outcomes(c, all(outbox.Delivered)))
		})
		f.waiting(1, "DELETE c")
		exec(t, tx, "UPDATE outbox_messages SET attempts = attempts + 0 WHERE id = ?", f.key(m[0].ID))
		if err := tx.Commit().Error; err != nil {
			t.Fatal(err)
		}
		if s := await(f, settled); s.value != 2 || s.err != nil {
			t.Errorf("settled %d, %v; want 2", s.value, s.err)
		}
	})
	t.Run("in_a_deadlock_of_the_application_end_its_transaction_by_an_error", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openMariaDB(t, gorm.Config{}), 8, gormstore.Config{StrictKeys: true})
		first, second := f.writer(), f.writer()
		first.enqueue("a")
		second.enqueue("b")
		waits := background(func() (int, error) {
			return 0, f.store.In(first.tx).Enqueue(t.Context(), message("b"))
		})
		f.waiting(1, "FOR UPDATE")
		err := f.store.In(second.tx).Enqueue(t.Context(), message("a"))
		r := await(f, waits)
		if (err == nil) == (r.err == nil) || !strings.Contains(fmt.Sprint(err, r.err), "1213") {
			t.Errorf("got %v and %v, want one deadlock", err, r.err)
		}
		_ = first.tx.Rollback()
		_ = second.tx.Rollback()
		if n := f.count("outbox_messages"); n != 0 {
			t.Errorf("%d messages are stored, want none", n)
		}
	})
}

// impatient is a database in which every wait for a lock of a row is an error after a second.
func impatient(t *testing.T) *fixture {
	t.Helper()
	address := mariadbAddress(t)
	address.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	return newFixture(t, open(t, mysql.Open(address.FormatDSN()), gorm.Config{}), 8, gormstore.Config{})
}

func messageOf(c outbox.Claim, key string) *outbox.Message {
	for _, m := range c.Messages {
		if m.Key == key {
			return m.Message
		}
	}
	return nil
}
