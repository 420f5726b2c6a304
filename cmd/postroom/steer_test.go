package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestMigrateCommand(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *testDatabase{"postgres": newPostgreSQL, "mariadb": newMariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.run("status").want(exitFailed, "postroom migrate")
			d.run("schema", "check").want(exitFinding, "version 0 of 5", "postroom migrate")
			d.run("schema", "sql").want(0, "-- to version 5", "COMMIT;")
			d.run("migrate", "--lanes", "16").want(0, "the tables are of version 5, with 16 lanes")
			d.run("migrate").want(0, "nothing to do: ")
			d.run("migrate", "--lanes", "8").want(exitFailed, "the number of lanes is fixed")
			d.run("migrate", "--lanes", "-1").want(exitUsage, "Lanes is -1")
			d.run("schema", "sql", "--lanes", "-1").want(exitUsage, "Lanes is -1")
			d.run("schema", "check").want(0, "version 5 of 5, 16 lanes, 0 differences")
			d.run("schema", "sql").want(0, "-- nothing to do")
			execute(t, d.db, "UPDATE outbox_meta SET version = 6")
			d.run("schema", "check").want(exitFinding, "newer than this program: update it")
			execute(t, d.db, "UPDATE outbox_meta SET version = 5")
			if got := decode[migrateJSON](d, "migrate"); got.Version != 5 || got.Lanes != 16 || len(got.Steps) != 0 {
				t.Errorf("got %+v", got)
			}
			r := d.run("status", "--name", "other").want(exitFailed, "none found")
			if n := strings.Count(r.errs, "none found"); n != 1 {
				t.Errorf("why nothing is known is said %d times, want once:\n%s", n, r.errs)
			}
			d.run("migrate", "--name", "other").want(0, "with 64 lanes")
			d.run("status", "--name", "other").want(0)
			d.run("status", "--name", "an outbox").want(exitUsage, "letters, digits")
			d.run("migrate", "--name", "an outbox").want(exitUsage, "letters, digits")
		})
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t)
	t.Run("sql_is_what_migrate_runs", func(t *testing.T) {
		script := d.run("schema", "sql", "--lanes", "8").want(0).out
		execute(t, d.db, script) // all of it at once, as psql would
		d.run("schema", "check").want(0, "8 lanes, 0 differences")
		d.run("migrate").want(0, "nothing to do")
	})
	t.Run("check_names_what_differs", func(t *testing.T) {
		execute(t, d.db, "DROP INDEX outbox_messages_ready")
		d.run("schema", "check").want(exitFinding, "slows: index messages_ready is missing")
		r := d.run("schema", "check", "--json").want(exitFinding, `"object": "index messages_ready"`, `"breaks": false`)
		if r.errs != "" {
			t.Errorf("a finding is no failure: %s", r.errs)
		}
	})
	d.run("schema").want(exitUsage, "say which command of")
	d.run("schema", "bogus").want(exitUsage, "unknown command")
}

func TestPauseCommand(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	r := d.seed()
	d.run("pause", "--topic", "orders").want(exitUsage, "why by --reason")
	d.run("pause", "--reason", "x").want(exitUsage, "say one of --all, --topic and --key")
	d.run("pause", "--reason", "x", "--all", "--key", "k").want(exitUsage, "say one of --all, --topic and --key")
	d.run("pause", "--topic", "orders", "--reason", "deploy", "--by", "on-call").
		want(0, "topic orders", "on-call", "deploy")
	d.run("status").want(0, "topic orders", "deploy")
	if got := r.drain(); len(got) != 0 {
		t.Errorf("delivered %q, want nothing of the paused topic", got)
	}
	d.run("pause", "--key", "customer-9", "--reason", "x").want(0, "key customer-9")
	d.run("pause", "--all", "--reason", "x").want(0, "everything")
	d.run("resume", "--all", "--reason", "x").want(0, "topic orders")
	got := decode[struct{ Pauses []pauseJSON }](d, "resume", "--key", "customer-9", "--reason", "x").Pauses
	if len(got) != 1 || got[0].Topic != "orders" || got[0].By != "on-call" || got[0].Reason != "deploy" {
		t.Errorf("got %+v, want the pause of the topic", got)
	}
	d.run("resume", "--topic", "orders", "--reason", "deployed").want(0, "nothing is paused")
	if got := r.drain(); len(got) != 1 {
		t.Errorf("delivered %q, want what is pending", got)
	}
	acts, err := d.store.Audit(t.Context(), uuid.Nil, 0, 100)
	if err != nil || len(acts) != 6 || acts[0].Deed != "resume" || acts[5].By != "on-call" {
		t.Errorf("got %+v, %v; want six acts", acts, err)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.run("release", "--relay", "shop-1", "--reason", "x").want(exitFailed, "no other has one")
	r := d.seed()
	d.run("release", "--reason", "x").want(exitUsage, "--relay")
	d.run("release", "--relay", "shop-1").want(exitUsage, "why by --reason")
	d.run("release", "--relay", "shop-2", "--reason", "x").
		want(exitFailed, `relay "shop-2" has no session: those that have are ["shop-1"]`)
	d.run("release", "--relay", "shop-1", "--reason", "its host is gone", "--by", "on-call").
		want(0, "ended session "+r.id.String(), "draws a new session")
	d.wantAudit("release by on-call: its host is gone (relay shop-1)")
	if heir := d.join("shop-2"); len(heir.lanes) != 8 {
		t.Errorf("the next relay got %d lanes at once, want all 8", len(heir.lanes))
	}
	d.run("list", "--status", "suspect").want(0, seedID(6).String())
	got := decode[struct{ Released []uuid.UUID }](d, "release", "--relay", "shop-2", "--reason", "x")
	if len(got.Released) != 1 {
		t.Errorf("got %+v, want one session", got)
	}
}

// wantAudit holds the latest act against what was done, by whom and why.
func (d *testDatabase) wantAudit(want string) {
	d.Helper()
	acts, err := d.store.Audit(d.Context(), uuid.Nil, 0, 1)
	if err != nil || len(acts) != 1 {
		d.Fatalf("got %+v, %v; want an act", acts, err)
	}
	a := acts[0]
	if got := fmt.Sprintf("%s by %s: %s", a.Deed, a.By, a.Reason); got != want || a.Message != uuid.Nil {
		d.Errorf("the audit has %q of message %s, want %q of none", got, a.Message, want)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.seed()
	execute(t, d.db, `INSERT INTO outbox_archive (delivered_at, id, seq, lane, attempts, failures, version, uncertain,
		created_at, topic, type, content_type, transport, tenant)
		SELECT now() - i * interval '1 hour', gen_random_uuid(), i, 0, 0, 0, 1, false, now(), 't', 'T', '', '', ''
		FROM generate_series(1, 2500) i`)
	d.run("purge", "--reason", "x").want(exitUsage, "--older-than")
	d.run("purge", "--older-than", "-1h", "--reason", "x").want(exitUsage, "--older-than")
	d.run("purge", "--older-than", "1h").want(exitUsage, "why by --reason")
	d.run("purge", "--older-than", "200h30m", "--reason", "disk", "--by", "cron").want(0, "purged 2300 messages")
	d.wantAudit("purge by cron: disk (older than 200h30m0s)")
	if got := decode[struct{ Purged int }](d, "purge", "--older-than", "0s", "--reason", "x"); got.Purged != 200 {
		t.Errorf("purged %d, want the other 200", got.Purged)
	}
	if n := d.count("messages"); n != 8 {
		t.Errorf("%d messages are stored, want all that are not delivered", n)
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	runWith(t, "", "status").want(exitUsage, "give --database or set DATABASE_URL")
	runWith(t, "").want(exitUsage, "say which command of")
	runWith(t, "", "bogus").want(exitUsage, `unknown command "bogus"`)
	runWith(t, "", "help").want(0, "PostgreSQL, MariaDB or MySQL", "requeue", "SQLite")
	runWith(t, "", "completion", "bash").want(0, "bash completion")
	runWith(t, "sqlite:///tmp/app.db", "status").want(exitUsage, "not the address of a database")
	r := runWith(t, "postgres://user:secret@127.0.0.1:1/none", "status").want(exitFailed, "connect to the database")
	if strings.Contains(r.errs, "secret") {
		t.Errorf("printed a password: %s", r.errs)
	}
}

// TestMariaDB: each command works there as on PostgreSQL.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	d := newMariaDB(t).migrate()
	r := d.seed()
	id := seedID(1).String()
	d.run("status").want(0, "orders    parked     2", "shop-1", "nothing is paused")
	d.run("owners").want(0, r.id.String(), "0-7")
	d.run("list", "--status", "parked", "--error", "refused").want(0, id)
	d.run("skip", id, "--yes", "--reason", "later").want(0, "skipped 1 of 1 message")
	d.run("discard", "--class", "permanent", "--yes", "--reason", "too large").want(0, "discarded 1 of 1 message")
	d.run("requeue", id, "--yes", "--reason", "again").want(0, "requeued 1 of 1 message")
	d.run("show", id, "--payload").want(0, `{"order":1}`, "skip", "requeue", "later", "again")
	d.run("pause", "--key", "customer-5", "--reason", "x").want(0, "key customer-5")
	d.run("resume", "--key", "customer-5", "--reason", "x").want(0, "nothing is paused")
	d.run("release", "--relay", "shop-1", "--reason", "gone", "--by", "me").want(0, r.id.String())
	d.wantAudit("release by me: gone (relay shop-1)")
	d.run("list", "--status", "suspect").want(0, seedID(6).String())
	d.run("purge", "--older-than", "1h", "--reason", "x").want(0, "purged 0 messages")
}
