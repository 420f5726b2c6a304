package main

import (
	"strings"
	"testing"
)

// TestShow_why: show says of each message that has not arrived what it waits for.
func TestShow_why(t *testing.T) {
	t.Parallel()
	why := func(d *testDatabase, n int) string {
		d.Helper()
		return decode[showJSON](d, "show", seedID(n).String()).Why
	}
	d := newPostgreSQL(t).migrate()
	d.seed()
	for _, c := range []struct {
		claim string
		n     int
		want  string
	}{
		{
			"a_parked_message_for_somebody", 1,
			"its key waits for somebody to mend what the last error says, and to requeue, skip or discard it",
		},
		{
			"a_held_one_for_the_message_before_it", 2,
			seedID(1).String() + " is before it in its key and is parked: dial tcp 10.0.0.7:9092: connection refused",
		},
		{"a_skipped_one_for_nobody", 4, "it was set aside and its key goes on: requeue or discard it"},
		{
			"a_claimed_one_for_its_relay", 6,
			"shop-1 has it in hand; if that lasts, its broker does not answer: postroom doctor",
		},
		{"a_pending_one_for_the_relay_of_its_lane", 7, "shop-1 publishes it next, or says in its log why not"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := why(d, c.n); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("a_retry_and_a_scheduled_message_for_their_time", func(t *testing.T) {
		d.run("show", seedID(5).String()).want(0, "why           shop-1 tries it again in 9h59m")
		d.run("show", seedID(8).String()).want(0, "why           it is not due before 20")
	})
	t.Run("a_paused_one_and_what_is_behind_it_for_the_end_of_the_pause", func(t *testing.T) {
		d := newPostgreSQL(t).migrate()
		first, second := message("invoices", "k"), message("orders", "k")
		d.enqueue(first, second)
		d.run("pause", "--topic", "invoices", "--reason", "audit", "--by", "ann").want(0)
		d.run("show", first.ID.String()).want(0, "topic invoices is paused by ann since 20", ": audit")
		d.run("show", second.ID.String()).want(0, first.ID.String()+" is before it in its key and is paused")
	})
	t.Run("a_pending_one_for_a_relay_to_start", func(t *testing.T) {
		d.run("release", "--relay", "shop-1", "--reason", "its host is gone").want(0)
		if got, want := why(d, 7), "no relay lives: start one, or see in its log why it ended"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("a_pending_one_for_a_relay_that_lives_to_take_its_lane", func(t *testing.T) {
		d := newPostgreSQL(t).migrate()
		d.join("shop-2")
		m := message("orders", "")
		d.enqueue(m)
		execute(t, d.db, "UPDATE outbox_lanes SET owner = NULL")
		d.run("show", m.ID.String()).want(0, "no relay has taken lane ", "postroom owners")
	})
	t.Run("a_held_one_for_a_row_that_was_deleted_by_hand", func(t *testing.T) {
		for name, create := range map[string]func(testing.TB) *testDatabase{
			"postgres": newPostgreSQL, "mariadb": newMariaDB,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				testDeletedByHand(t, create(t).migrate())
			})
		}
	})
}

// testDeletedByHand follows what show says to the doctor, and what that says to the end.
func testDeletedByHand(t *testing.T, d *testDatabase) {
	first, second := message("orders", "k"), message("orders", "k")
	d.enqueue(first)
	r := d.join("shop-1")
	r.settle(r.claim(), parkedFor("too large"))
	d.wantNone("held")
	execute(t, d.db, "DELETE FROM outbox_messages")
	d.enqueue(second)
	d.run("show", second.ID.String()).want(0, "what held its key is gone: if it stays held, postroom doctor")
	all, _ := d.findings()
	statement := ""
	for _, f := range all {
		if f.Check == "held" {
			_, statement, _ = strings.Cut(f.Fix, "stop the relays, ")
			statement, _, _ = strings.Cut(statement, ", and start them")
		}
	}
	if statement == "" {
		t.Fatalf("the doctor does not name the key: %+v", all)
	}
	execute(t, d.db, statement)
	d.wantNone("held")
	if c := r.claim(); len(c.Messages) != 1 || c.Messages[0].ID != second.ID {
		t.Errorf("claimed %d messages, want the one that was held", len(c.Messages))
	}
}
