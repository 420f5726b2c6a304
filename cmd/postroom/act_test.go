package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// parked stores n messages of topic orders over so many keys, each of which is parked, and returns what was stored of
// each key.
func (d *testDatabase) parked(n, keys int) (r *relayed, want map[string][]string) {
	d.Helper()
	want = map[string][]string{}
	var messages []*outbox.Message
	for i := range n {
		m := message("orders", fmt.Sprint("key-", i%keys))
		m.Payload = fmt.Appendf(nil, "%s %d", m.Key, i)
		want[m.Key] = append(want[m.Key], string(m.Payload))
		messages = append(messages, m)
	}
	d.enqueue(messages...)
	r = d.join("shop-1")
	for {
		c := r.claim()
		if len(c.Messages) == 0 {
			return r, want
		}
		r.settle(c, parkedFor("timeout after 3 s"))
	}
}

// perKey sorts payloads by what stands before the blank.
func perKey(payloads []string) map[string][]string {
	keys := map[string][]string{}
	for _, p := range payloads {
		key, _, _ := strings.Cut(p, " ")
		keys[key] = append(keys[key], p)
	}
	return keys
}

func TestRequeue(t *testing.T) {
	t.Parallel()
	t.Run("of_thousands_by_a_filter_shows_them_first_and_keeps_the_order_of_each_key", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		r, want := d.parked(3000, 7)
		filter := []string{"requeue", "--topic", "orders", "--error", "timeout"}
		d.run(filter...).want(0, "would requeue 3000 messages", "… and 2990 more", "timeout after 3 s")
		dry := decode[deedJSON](d, filter...)
		if !dry.DryRun || dry.Matched != 3000 || dry.Changed != 0 || len(dry.Sample) != 10 {
			t.Errorf("got %+v, want 3000 that match and none changed", dry)
		}
		if n := d.parkedNow(); n != 3000 {
			t.Fatalf("after the dry run %d messages are parked, want all", n)
		}
		did := decode[deedJSON](d, append(filter, "--yes", "--reason", "the broker is back", "--by", "on-call")...)
		if did.DryRun || did.Matched != 3000 || did.Changed != 3000 {
			t.Errorf("got %+v, want 3000 changed", did)
		}
		if diff := cmp.Diff(want, perKey(r.drain())); diff != "" {
			t.Errorf("delivered by key (-want +got):\n%s", diff)
		}
		acts, err := d.store.Audit(t.Context(), uuid.Nil, 0, 5000)
		if err != nil || len(acts) != 3000 || acts[0].Act != (outbox.Act{By: "on-call", Reason: "the broker is back"}) {
			t.Errorf("got %d acts, %v; want one for each message, with who and why", len(acts), err)
		}
	})
	t.Run("is_refused_without_a_reason_and_changes_nothing", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.parked(2, 2)
		d.run("requeue", "--all", "--yes").want(exitUsage, "say who acts by --by, and why by --reason")
		d.run("requeue", "--yes", "--reason", "x").want(exitUsage, "say what to requeue: ids, a filter, or --all")
		d.run("requeue", "--all", "--topic", "orders").want(exitUsage, "say one of ids, a filter, and --all")
		d.run("requeue", seedID(1).String(), "--all").want(exitUsage, "say one of")
		d.run("requeue", "no-id").want(exitUsage, "no message id")
		d.run("requeue", "--status", "pending").want(exitUsage, "say parked or skipped")
		d.run("requeue", "--all", "--rate", "-1").want(exitUsage, "--rate")
		if n := d.parkedNow(); n != 2 {
			t.Errorf("%d messages are parked, want both", n)
		}
	})
	t.Run("of_ids_tells_which_it_left_alone", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.seed()
		r := d.run("requeue", seedID(1).String(), seedID(7).String(), seedID(99).String(), seedID(1).String(),
			"--yes", "--reason", "again").want(exitFinding, "requeued 1 of 1 message",
			seedID(7).String()+" is pending: requeue changes what is parked or skipped", seedID(99).String()+" is not stored")
		if strings.Contains(r.errs, "left alone") {
			t.Errorf("a finding is no failure: %s", r.errs)
		}
		acts, err := d.store.Audit(t.Context(), uuid.Nil, 0, 10)
		if err != nil || len(acts) != 1 || acts[0].By == "" {
			t.Errorf("got %+v, %v; want one act, by the user of the system", acts, err)
		}
	})
	t.Run("waits_while_too_many_are_under_way", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		r, want := d.parked(100, 100)
		p := d.background("requeue", "--all", "--yes", "--reason", "again", "--max-in-flight", "40", "--rate", "100000")
		eventually(t, "waiting for room", func() bool { return strings.Contains(p.errs.String(), "waiting: 40 messages") })
		if n := d.parkedNow(); n != 60 {
			t.Errorf("%d messages are parked, want the first 40 requeued", n)
		}
		var delivered []string
		eventually(t, "the rest", func() bool {
			delivered = append(delivered, r.drain()...)
			return d.parkedNow() == 0
		})
		if code := <-p.ended; code != 0 {
			t.Errorf("exit code %d: %s", code, p.errs.String())
		}
		delivered = append(delivered, r.drain()...)
		if diff := cmp.Diff(want, perKey(delivered)); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
	t.Run("that_is_interrupted_can_be_called_again", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		r, want := d.parked(5, 5)
		p := d.background("requeue", "--all", "--yes", "--reason", "x", "--max-in-flight", "2")
		eventually(t, "two messages requeued", func() bool { return d.parkedNow() == 3 })
		p.interrupt()
		if code := <-p.ended; code != exitFailed || !strings.Contains(p.errs.String(), "interrupted") {
			t.Errorf("exit code %d, want %d, and %q to say why", code, exitFailed, p.errs.String())
		}
		if !strings.Contains(p.out.String(), "requeued 2 of 5 messages") {
			t.Errorf("printed %q, want what was done", p.out.String())
		}
		d.run("requeue", "--all", "--yes", "--reason", "the rest").want(0, "requeued 3 of 3 messages")
		if diff := cmp.Diff(want, perKey(r.drain())); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
	t.Run("goes_by_the_order_of_what_is_parked_and_skipped_together", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.seed()
		d.run("skip", seedID(1).String(), "--yes", "--reason", "later").want(0)
		o := &order{deed: deed{on: []outbox.Status{outbox.StatusParked, outbox.StatusSkipped}}}
		found, err := o.find(t.Context(), d.store, outbox.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, m := range found.messages {
			got = append(got, m.id)
		}
		if diff := cmp.Diff([]uuid.UUID{seedID(1), seedID(3), seedID(4)}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
	t.Run("works_on_MariaDB", func(t *testing.T) {
		t.Parallel()
		d := newMariaDB(t).migrate()
		r, want := d.parked(250, 3)
		d.run("requeue", "--class", "refused").want(0, "would requeue 250 messages")
		d.run("requeue", "--class", "refused", "--yes", "--reason", "again").want(0, "requeued 250 of 250 messages")
		if diff := cmp.Diff(want, perKey(r.drain())); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
	})
}

// parkedNow counts the messages that are set aside.
func (d *testDatabase) parkedNow() (n int) {
	d.Helper()
	if err := d.db.Raw("SELECT count(*) FROM outbox_messages WHERE state IN (3, 5)").Scan(&n).Error; err != nil {
		d.Fatal(err)
	}
	return n
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	r := d.seed()
	d.run("discard", "--class", "permanent").want(0, "would discard 1 message", seedID(3).String())
	d.run("discard", "--class", "permanent", "--yes", "--reason", "too large").want(0, "discarded 1 of 1 message")
	d.run("discard", seedID(1).String(), "--yes", "--reason", "sent by hand").want(0, "discarded 1 of 1 message")
	if got := r.drain(); !slices.Contains(got, `{"order":2}`) || slices.Contains(got, `{"order":1}`) {
		t.Errorf("delivered %q, want what was held behind the message, and not that one", got)
	}
	d.run("show", seedID(3).String()).want(0, "was discarded", "too large")
}

func TestSkip(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	r := d.seed()
	d.run("skip", "--key", "customer-1").want(0, "would skip 1 message")
	d.run("skip", "--status", "skipped").want(exitUsage, "say parked")
	d.run("skip", "--key", "customer-1", "--yes", "--reason", "later").want(0, "skipped 1 of 1 message")
	if got := r.drain(); !slices.Contains(got, `{"order":2}`) {
		t.Errorf("delivered %q, want what was held behind the message", got)
	}
	d.run("list", "--status", "skipped").want(0, seedID(1).String())
	d.run("skip", seedID(1).String()).want(exitFinding, "is skipped: skip changes what is parked")
}
