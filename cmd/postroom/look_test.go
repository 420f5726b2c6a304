package main

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	t.Run("tells_what_is_stored_who_relays_and_what_is_paused", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.run("status").want(0, "no message is stored", "no relay runs", "nothing is paused")
		d.seed()
		d.run("status").want(0, "orders    parked     2", "invoices  retrying   1", "shop-1", "0-7")
		got := decode[statusJSON](d, "status")
		var counts []string
		for _, c := range got.Backlog.Counts {
			counts = append(counts, c.Topic+" "+string(c.Status))
			if c.Status != outbox.StatusScheduled && c.OldestSeconds <= 0 {
				t.Errorf("%s %s is %v seconds old", c.Topic, c.Status, c.OldestSeconds)
			}
		}
		want := []string{
			"invoices retrying", "invoices skipped", "orders held", "orders in_flight", "orders parked", "orders pending",
			"reports scheduled",
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if !got.Backlog.Available || !got.Sessions.Available || !got.Pauses.Available || got.Backlog.Capped {
			t.Errorf("got %+v, want all of it to be known", got)
		}
	})
	t.Run("tells_what_is_not_known_from_what_is_none", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		execute(t, d.db, "ALTER TABLE outbox_claims RENAME COLUMN ids TO gone")
		d.run("status").want(1, "outbox tables were changed", "schema check")
		execute(t, d.db, "ALTER TABLE outbox_claims RENAME COLUMN gone TO ids")
		r := d.run("status", "--timeout", "1ns", "--json").want(1)
		var got statusJSON
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatal(err)
		}
		if got.Backlog.Available || got.Backlog.Error == "" || got.Sessions.Available || got.Pauses.Available {
			t.Errorf("got %+v, want nothing to be known, and why", got)
		}
		d.run("status", "--timeout", "1ns").want(1, "the backlog is not known: ", "who relays is not known: ")
	})
	t.Run("marks_lower_bounds", func(t *testing.T) {
		t.Parallel()
		var text strings.Builder
		writeBacklog(&text, outbox.Backlog{
			Capped: true, Counts: []outbox.BacklogCount{{Topic: "orders", Status: outbox.StatusPending, Messages: 64000}},
		})
		if got := text.String(); !strings.Contains(got, "≥ 64000") || !strings.Contains(got, "lower bounds") {
			t.Errorf("got %q, want the count marked as a lower bound", got)
		}
	})
}

func TestOwners(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.run("owners").want(0, "no relay runs: nothing is published")
	r := d.seed()
	d.run("owners").want(0, "RELAY", "shop-1", r.id.String(), "alive", "0-7")
	got := decode[struct{ Sessions []sessionJSON }](d, "owners").Sessions
	if len(got) != 1 || got[0].ID != r.id || got[0].Relay != "shop-1" || got[0].State != "alive" || got[0].InFlight != 1 ||
		!slices.Equal(got[0].Lanes, []int{0, 1, 2, 3, 4, 5, 6, 7}) || got[0].ExpirySeconds <= 0 {
		t.Errorf("got %+v", got)
	}
	execute(t, d.db, "UPDATE outbox_sessions SET expires_at = now() - interval '1 minute'")
	d.run("owners").want(0, "expired", "-1m")
}

func TestRanges(t *testing.T) {
	t.Parallel()
	if got := ranges([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Errorf("got %q", got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.run("list").want(0, "no message matches")
	d.seed()
	for _, c := range []struct {
		name string
		args []string
		want []int
	}{
		{"all", nil, []int{1, 2, 3, 4, 5, 8, 6, 7}},
		{"by_status", []string{"--status", "parked"}, []int{1, 3}},
		{"by_topic", []string{"--topic", "invoices"}, []int{4, 5}},
		{"by_key", []string{"--key", "customer-1"}, []int{1, 2}},
		{"by_type", []string{"--type", "other"}, nil},
		{"by_tenant", []string{"--tenant", "other"}, nil},
		{"by_error", []string{"--error", "refused"}, []int{1, 4, 5}},
		{"by_class", []string{"--class", "permanent"}, []int{3}},
		{"by_age", []string{"--older-than", "1h"}, nil},
		{"by_id", []string{"--id", seedID(6).String()}, []int{6}},
		{"by_two_fields", []string{"--error", "refused", "--topic", "orders"}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for _, m := range decode[listJSON](d, append([]string{"list"}, c.args...)...).Messages {
				got = append(got, numberOf(m))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("in_pages", func(t *testing.T) {
		var got []int
		for after := "0"; ; {
			page := decode[listJSON](d, "list", "--limit", "3", "--after", after)
			for _, m := range page.Messages {
				got = append(got, numberOf(m))
			}
			if page.NextAfter == nil {
				break
			}
			text, _ := json.Marshal(page.NextAfter)
			after = string(text)
			d.run("list", "--limit", "3", "--after", after).want(0)
		}
		if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 8, 6, 7}, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
		d.run("list", "--limit", "3").want(0, "there may be more: --after ", "customer-1")
	})
	t.Run("refuses_what_no_message_can_be", func(t *testing.T) {
		d.run("list", "--status", "lost").want(exitUsage, "unknown --status \"lost\": say parked, skipped, in_flight")
		d.run("list", "--class", "bad").want(exitUsage, "say refused, permanent")
		d.run("list", "--id", "7").want(exitUsage, "\"7\" is no message id")
		d.run("list", "--limit", "0").want(exitUsage, "say 1 to 1000")
		d.run("list", "--older-than", "-1h").want(exitUsage, "--older-than")
		d.run("list", "stray").want(exitUsage, "unknown command \"stray\"")
		d.run("help", "stray").want(exitUsage, "unknown command \"stray\"")
		d.run("list", "--stray").want(exitUsage, "unknown flag: --stray")
	})
}

func numberOf(m messageJSON) int { return int(m.ID[15]) }

func TestShow(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.seed()
	id := seedID(1).String()
	t.Run("tells_everything_but_the_payload", func(t *testing.T) {
		r := d.run("show", id).want(0, "parked", "customer-1", "order.placed, version 1", "1, of which 1 were refused",
			"refused: dial tcp 10.0.0.7:9092", "traceparent = 00-0af7", "11 bytes, see --payload")
		if strings.Contains(r.out, `{"order":1}`) {
			t.Errorf("shows the payload unasked:\n%s", r.out)
		}
		got := decode[showJSON](d, "show", id)
		if got.Message.ID != seedID(1) || got.Message.PayloadBytes != 11 || len(got.Headers) != 1 || got.Payload != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("shows_the_payload_when_it_is_asked_for", func(t *testing.T) {
		d.run("show", id, "--payload").want(0, "\n"+`{"order":1}`)
		r := d.run("show", id, "--payload", "--json").want(0)
		if want := base64.StdEncoding.EncodeToString([]byte(`{"order":1}`)); !strings.Contains(r.out, want) {
			t.Errorf("want %s in %s", want, r.out)
		}
	})
	t.Run("quotes_what_could_steer_a_terminal", func(t *testing.T) {
		m := message("orders", "\u202ekey")
		m.Payload = []byte("\x1b[2J")
		d.enqueue(m)
		r := d.run("show", m.ID.String(), "--payload").want(0, `"\u202ekey"`, "1b 5b 32 4a")
		if strings.ContainsAny(r.out, "\x1b\u202e") {
			t.Errorf("printed it raw: %q", r.out)
		}
	})
	t.Run("keeps_the_history_of_a_message_that_is_gone", func(t *testing.T) {
		d.run("discard", seedID(4).String(), "--yes", "--reason", "sent by hand", "--by", "on-call").want(0)
		d.run("show", seedID(4).String()).want(0, "was discarded", "discard", "on-call", "sent by hand")
		got := decode[showJSON](d, "show", seedID(4).String())
		if got.Message != nil || got.Delivery != nil || len(got.Audit) != 1 ||
			got.Audit[0].Deed != "discard" || got.Audit[0].Topic != "invoices" {
			t.Errorf("got %+v, want the act alone", got)
		}
	})
	t.Run("tells_when_a_message_was_delivered", func(t *testing.T) {
		for name, create := range map[string]func(testing.TB) *testDatabase{
			"postgres": newPostgreSQL, "mariadb": newMariaDB,
		} {
			t.Run(name, func(t *testing.T) {
				d := create(t).migrate()
				var err error
				d.store, err = gormstore.Open(openDatabase(t, d.url), gormstore.Config{Archive: time.Hour})
				must(t, err)
				m := message("orders", "customer-9")
				d.enqueue(m)
				r := d.join("shop-2")
				r.settle(r.claim(), parkedFor("refused"))
				d.run("requeue", m.ID.String(), "--yes", "--reason", "mended").want(0)
				r.drain()
				d.run("show", m.ID.String()).want(0, "delivered 20", "orders", "customer-9", "requeue", "mended")
				got := decode[showJSON](d, "show", m.ID.String())
				if got.Message != nil || got.Delivery == nil || got.Delivery.Key != "customer-9" ||
					got.Delivery.DeliveredAt.Before(got.Delivery.CreatedAt) || len(got.Audit) != 1 {
					t.Errorf("got %+v, want the delivery and the act", got)
				}
				d.run("purge", "--older-than", "0s", "--reason", "tidy").want(0)
				d.run("show", m.ID.String()).want(0, "was delivered and is not in the archive", "requeue", "mended")
			})
		}
	})
	t.Run("refuses_what_is_not_there", func(t *testing.T) {
		d.run("show", seedID(99).String()).want(exitFailed, "no message "+seedID(99).String()+": it was never committed")
		d.run("show").want(exitUsage, "accepts 1 arg(s), received 0")
	})
}
