package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/cmd/postroom/internal/doctor"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testoutput"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// TestDoctor_process is the life of an operator: three things are wrong, and each is named with what mends it.
func TestDoctor_process(t *testing.T) {
	t.Parallel()
	d := newPostgreSQL(t).migrate()
	d.holdSnapshot("nightly-report")
	execute(t, d.db, "DROP INDEX outbox_messages_due")
	exchange := testservices.Name("missing")
	d.enqueue(message(exchange, "k"))
	var p *process
	eventually(t, "the snapshot to be old enough", func() bool {
		p = start(t, nil, "doctor", "--database", d.url, "--amqp", testservices.AMQP(t))
		p.wantCode(3, "")
		return strings.Contains(p.out.String(), "nightly-report")
	})
	for _, want := range []string{
		`application "nightly-report"`, "fix: end it: SELECT pg_terminate_backend(",
		"warning: schema: index messages_due is missing", "fix: CREATE INDEX CONCURRENTLY \"outbox_messages_due\" ON ",
		fmt.Sprintf("exchange %q does not exist", exchange), "fix: create what is missing",
	} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("printed:\n%s\nwant %q in it", p.out.String(), want)
		}
	}
}

// findings runs the doctor in this process.
func (d *testDatabase) findings(args ...string) (all []doctor.Finding, code int) {
	d.Helper()
	var out, errs testoutput.Buffer
	args = append([]string{"doctor", "--json", "--database", d.url}, args...)
	code = run(d.Context(), args, os.Getenv, &out, &errs)
	var report doctor.Report
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		d.Fatalf("%v: printed %s%s", err, out.String(), errs.String())
	}
	for _, f := range report.Findings {
		if f.Check == "" || f.Severity == "" || f.Subject == "" || f.Text == "" || f.Fix == "" {
			d.Errorf("the finding is not complete: %+v", f)
		}
		if f.Check != "slots" { // those of the server are nobody's in particular
			all = append(all, f)
		}
	}
	return all, code
}

// wants reports whether there is a finding of a check and a severity with all of texts in it.
func wants(all []doctor.Finding, check string, severity doctor.Severity, texts ...string) bool {
	for _, f := range all {
		found := f.Check == check && f.Severity == severity
		for _, text := range texts {
			found = found && strings.Contains(f.Subject+": "+f.Text+"; "+f.Fix, text)
		}
		if found {
			return true
		}
	}
	return false
}

// want holds the doctor to a finding.
func (d *testDatabase) want(args []string, check string, severity doctor.Severity, texts ...string) {
	d.Helper()
	all, _ := d.findings(args...)
	if !wants(all, check, severity, texts...) {
		d.Errorf("no %s of check %s has %q: %+v", severity, check, texts, all)
	}
}

// wantNone holds the doctor to have no finding of a check.
func (d *testDatabase) wantNone(check string, args ...string) {
	d.Helper()
	all, _ := d.findings(args...)
	for _, f := range all {
		if f.Check == check {
			d.Errorf("got %+v, want none of check %s", f, check)
		}
	}
}

// holdSnapshot leaves a transaction open, as a report does whose program has forgotten it.
func (d *testDatabase) holdSnapshot(application string) {
	d.Helper()
	u, err := url.Parse(d.url)
	must(d, err)
	q := u.Query()
	q.Set("application_name", application)
	u.RawQuery = q.Encode()
	tx := openDatabase(d, u.String()).Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	execute(d, tx, "SELECT count(*) FROM outbox_lanes")
	d.Cleanup(func() { tx.Rollback() })
}

// burst commits n messages.
func (d *testDatabase) burst(n int) {
	d.Helper()
	execute(d, d.db, `INSERT INTO outbox_messages (id, lane, topic, key, type, version, content_type, payload)
		SELECT gen_random_uuid(), i % 8, 'orders', 'k' || i % 1000, 'order.placed', 1, 'text/plain',
			decode(repeat('00', 200), 'hex')
		FROM generate_series(1, ?) i`, n)
}

func TestDoctor_database(t *testing.T) {
	t.Parallel()
	t.Run("names_tables_that_are_missing_once", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t)
		d.want(nil, "schema", doctor.Critical, "tables", "postroom migrate")
		if all, code := d.findings(); code != exitFinding || wants(all, "relays", doctor.Warning) {
			t.Errorf("exit code %d and %+v, want one finding about the tables", code, all)
		}
	})
	t.Run("names_an_index_that_is_missing_and_the_statement_that_mends_it", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		for _, name := range []string{"messages_ready", "messages_pkey", "inbox_handled"} {
			drop := "DROP INDEX outbox_" + name
			if strings.HasSuffix(name, "_pkey") {
				drop = "ALTER TABLE outbox_messages DROP CONSTRAINT outbox_" + name
			}
			execute(t, d.db, drop)
		}
		d.want(nil, "schema", doctor.Critical, "messages_pkey")
		all, _ := d.findings()
		for _, f := range all {
			if f.Check == "schema" {
				execute(t, d.db, f.Fix)
			}
		}
		d.wantNone("schema")
	})
	t.Run("names_a_plan_that_reads_the_whole_table", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.burst(50_000)
		execute(t, d.db, "ANALYZE outbox_messages")
		d.wantNone("plan")
		execute(t, d.db, "DROP INDEX outbox_messages_ready")
		d.want(nil, "plan", doctor.Critical, "reads the whole table", "ANALYZE")
	})
	t.Run("names_who_holds_a_snapshot_and_tells_that_others_cannot_be_seen", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.wantNone("horizon")
		d.holdSnapshot("nightly-report")
		eventually(t, "the finding", func() bool {
			all, _ := d.findings()
			return wants(all, "horizon", doctor.Warning, "backend ", "nightly-report", "idle in transaction", "SELECT",
				"pg_terminate_backend")
		})
		d.as(func(other *testDatabase, role string) {
			other.want(nil, "horizon", doctor.Notice, role, "GRANT pg_monitor")
		})
	})
	t.Run("takes_a_right_that_is_missing_for_no_fault", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.as(func(other *testDatabase, role string) {
			execute(t, d.db, fmt.Sprintf("GRANT SELECT ON ALL TABLES IN SCHEMA public TO %q", role))
			other.wantNone("plan")
			execute(t, d.db, fmt.Sprintf("REVOKE SELECT ON outbox_blocks FROM %q", role))
			other.want(nil, "plan", doctor.Notice, "permission denied for table outbox_", "the account of the relay")
			all, _ := other.findings()
			for _, f := range all {
				if f.Severity != doctor.Notice {
					t.Errorf("got %+v", f)
				}
			}
		})
	})
	t.Run("names_a_slot_that_nobody_reads", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		slot := testservices.Name("doctor")
		execute(t, d.db, "SELECT pg_create_physical_replication_slot(?, true)", slot)
		dropped := false
		drop := func() {
			if !dropped {
				execute(t, openDatabase(t, testservices.Postgres(t)), "SELECT pg_drop_replication_slot(?)", slot)
			}
			dropped = true
		}
		t.Cleanup(drop)
		report := d.examine(time.Now)
		drop()
		if !wants(report, "slots", doctor.Warning, slot, "nobody reads", "pg_drop_replication_slot('"+slot+"')") {
			t.Errorf("got %+v", report)
		}
	})
	t.Run("names_tables_full_of_dead_rows", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.wantNone("dead-rows")
		d.holdSnapshot("holder")
		d.burst(110_000)
		must(t, d.db.Transaction(func(tx *gorm.DB) error {
			execute(t, tx, "DELETE FROM outbox_messages")
			return tx.Exec("SELECT pg_stat_force_next_flush()").Error // or else it is counted when the connection is idle
		}))
		eventually(t, "the finding", func() bool {
			all, _ := d.findings()
			return wants(all, "dead-rows", doctor.Warning, "outbox_messages", "dead rows", "VACUUM")
		})
	})
	t.Run("names_tables_without_autovacuum", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.wantNone("autovacuum")
		execute(t, d.db, "ALTER TABLE outbox_claims SET (autovacuum_enabled = off)")
		d.want(nil, "autovacuum", doctor.Critical, "outbox_claims", "RESET (autovacuum_enabled)")
	})
	t.Run("names_settings_that_lose_commits", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		for _, setting := range []string{"synchronous_commit = off", "default_transaction_read_only = on"} {
			execute(t, d.db, fmt.Sprintf("ALTER DATABASE %q SET %s", d.name(), setting))
		}
		d.want(nil, "settings", doctor.Critical, "synchronous_commit", "it is off")
		d.want(nil, "settings", doctor.Critical, "default_transaction_read_only")
		d.want(nil, "settings", doctor.Warning, "every account in "+d.name())
	})
	t.Run("names_a_clock_that_is_wrong", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.wantNone("clock")
		late := d.examine(func() time.Time { return time.Now().Add(-time.Minute) })
		if !wants(late, "clock", doctor.Warning, "behind the database's", "NTP") {
			t.Errorf("got %+v", late)
		}
		early := d.examine(func() time.Time { return time.Now().Add(time.Minute) })
		if !wants(early, "clock", doctor.Warning, "ahead of the database's") {
			t.Errorf("got %+v", early)
		}
	})
	t.Run("makes_what_checks_there_are_for_MariaDB", func(t *testing.T) {
		t.Parallel()
		d := newMariaDB(t).migrate()
		tx := d.db.Begin(&sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		execute(t, tx, "SELECT count(*) FROM outbox_lanes")
		defer tx.Rollback()
		d.enqueue(message("orders", "k"))
		eventually(t, "the holder", func() bool {
			all, _ := d.findings()
			return wants(all, "horizon", doctor.Warning, "connection ", "KILL ")
		})
		d.want(nil, "relays", doctor.Critical, "no relay runs, and 1 message is due")
		flush := d.scan("SHOW GLOBAL VARIABLES LIKE 'innodb_flush_log_at_trx_commit'")
		if all, _ := d.findings(); wants(all, "settings", doctor.Critical, "innodb_flush_log") != (flush != "1") {
			t.Errorf("innodb_flush_log_at_trx_commit is %s: got %+v", flush, all)
		}
		for _, check := range []string{"schema", "dead-rows", "clock", "parked"} {
			d.wantNone(check)
		}
	})
}

// examine is findings by another clock, those of slots included.
func (d *testDatabase) examine(now func() time.Time) []doctor.Finding {
	d.Helper()
	db, err := database.Open(d.url, 2)
	must(d, err)
	defer func() { must(d, database.Close(db)) }()
	store, err := gormstore.Open(db, gormstore.Config{})
	must(d, err)
	return doctor.Examine(d.Context(), doctor.Patient{
		DB: db, Store: store, Name: "outbox", MaxAge: time.Minute, Now: now,
	}).Findings
}

// as runs fn with an account that has no rights.
func (d *testDatabase) as(fn func(other *testDatabase, role string)) {
	d.Helper()
	role := testservices.Name("role")
	execute(d, d.db, fmt.Sprintf(`CREATE ROLE %q LOGIN PASSWORD 'p'`, role))
	d.Cleanup(func() {
		execute(d, d.db, fmt.Sprintf(`DROP OWNED BY %q`, role))
		execute(d, d.db, fmt.Sprintf(`DROP ROLE %q`, role))
	})
	u, err := url.Parse(d.url)
	must(d, err)
	u.User = url.UserPassword(role, "p")
	fn(&testDatabase{TB: d, url: u.String()}, role)
}

// scan returns the second column of a row.
func (d *testDatabase) scan(query string) (second string) {
	d.Helper()
	var first string
	must(d, d.db.Raw(query).Row().Scan(&first, &second))
	return second
}

func (d *testDatabase) name() (name string) {
	d.Helper()
	must(d, d.db.Raw("SELECT current_database()").Scan(&name).Error)
	return name
}

func TestDoctor_outbox(t *testing.T) {
	t.Parallel()
	t.Run("tells_that_nobody_relays", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.want(nil, "relays", doctor.Notice, "no relay runs, and no message is due")
		d.enqueue(message("orders", "a"), message("orders", "b"))
		d.want(nil, "relays", doctor.Critical, "no relay runs, and 2 messages are due", "postroom relay")
	})
	t.Run("names_sessions_that_nobody_recovered", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		execute(t, d.db, `INSERT INTO outbox_sessions (id, relay, expires_at)
			VALUES ('11111111-1111-1111-1111-111111111111', 'dead-relay', now() - interval '1 hour')`)
		execute(t, d.db, "UPDATE outbox_lanes SET owner = '11111111-1111-1111-1111-111111111111' WHERE lane < 3")
		d.want(nil, "relays", doctor.Warning, "dead-relay", "3 lanes", "start a relay")
	})
	t.Run("names_topics_whose_messages_wait_for_too_long", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.enqueue(message("orders", "a"))
		d.wantNone("backlog", "--max-age", "1h")
		d.want([]string{"--max-age", "1ns"}, "backlog", doctor.Warning, "topic orders", "the bound is 1ns")
	})
	t.Run("names_what_is_parked_by_its_cause", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.enqueue(message("orders", "a"), message("orders", "b"))
		d.wantNone("parked")
		execute(t, d.db, `UPDATE outbox_messages
			SET state = 3, attempts = 1, failures = 1, last_class = 'permanent', last_error = 'too large'`)
		d.want(nil, "parked", doctor.Warning, "topic orders", "2 messages of type order.placed", "too large", "requeue")
	})
	t.Run("names_pauses", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		act := outbox.Act{By: "ann", Reason: "maintenance"}
		must(t, d.store.Pause(t.Context(), act, outbox.Scope{Topic: "orders"}))
		d.want(nil, "pauses", doctor.Notice, "topic orders", "ann", "maintenance", "postroom resume")
	})
}
