package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// roles is a database whose roles have what docs/postgres-roles.md grants them.
type roles struct {
	testing.TB
	admin  *gorm.DB
	schema string
	prefix string // of the roles' names
}

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// documented runs the statements of the page under names of the test's own.
func documented(t testing.TB) *roles {
	t.Helper()
	page, err := os.ReadFile("../docs/postgres-roles.md")
	if err != nil {
		t.Fatal(err)
	}
	admin := open(t, postgres.Open(quick(t)), gorm.Config{})
	r := &roles{t, admin, testservices.Name("roles"), testservices.Name("shop") + "_"}
	renamed := strings.NewReplacer("shop_", r.prefix, "SCHEMA outbox", "SCHEMA "+r.schema, "outbox.", r.schema+".")
	blocks := sqlBlock.FindAllStringSubmatch(renamed.Replace(string(page)), -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of SQL, want 3", len(blocks))
	}
	t.Cleanup(r.drop)
	exec(t, r.admin, blocks[0][1])
	migrator := r.as("migrator")
	if err := gormstore.Migrate(t.Context(), migrator, gormstore.MigrateConfig{Schema: r.schema, Lanes: 8}); err != nil {
		t.Fatal(err)
	}
	exec(t, migrator, blocks[1][1])
	exec(t, migrator, blocks[2][1])
	exec(t, r.admin, fmt.Sprintf("CREATE TABLE %s.orders (id text PRIMARY KEY)", r.schema))
	exec(t, r.admin, fmt.Sprintf("GRANT ALL ON %s.orders TO %sapp", r.schema, r.prefix))
	return r
}

func (r *roles) drop() {
	exec(r, r.admin, fmt.Sprintf("DROP SCHEMA %s CASCADE", r.schema))
	for _, role := range []string{"migrator", "app", "relay", "operator"} {
		exec(r, r.admin, fmt.Sprintf("DROP OWNED BY %s%s", r.prefix, role))
		exec(r, r.admin, fmt.Sprintf("DROP ROLE %s%s", r.prefix, role))
	}
}

func (r *roles) as(role string) *gorm.DB {
	r.Helper()
	u, err := url.Parse(testservices.Postgres(r))
	if err != nil {
		r.Fatal("parse POSTGRES_URL: want postgres://user:password@host:port/database")
	}
	u.User = url.UserPassword(r.prefix+role, "change me")
	return open(r, postgres.Open(u.String()), gorm.Config{})
}

// store is the outbox as a role has it.
func (r *roles) store(role string, config gormstore.Config) *fixture {
	r.Helper()
	db := r.as(role)
	config.Schema = r.schema
	store, err := gormstore.Open(db, config)
	if err != nil {
		r.Fatal(err)
	}
	return &fixture{TB: r, db: db, store: store}
}

// denied wants each statement to be refused for want of a privilege.
func (r *roles) denied(role string, statements ...string) {
	r.Helper()
	db := r.as(role)
	for _, s := range statements {
		s = strings.ReplaceAll(s, "{}", r.schema+".")
		state, ok := errors.AsType[interface {
			error
			SQLState() string
		}](db.Exec(s).Error)
		if !ok || state.SQLState() != "42501" {
			r.Errorf("%s may: %s", role, s)
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	r := documented(t)
	app := r.store("app", gormstore.Config{StrictKeys: true})
	enqueue := func(s *gormstore.Store) error {
		return s.Transaction(t.Context(), func(tx *gormstore.Tx) error {
			return errors.Join(
				tx.Exec(fmt.Sprintf("INSERT INTO %s.orders VALUES (gen_random_uuid()::text)", r.schema)).Error,
				tx.Enqueue(t.Context(), message("a")), tx.Enqueue(t.Context(), message("a"), message("b"), message("c")))
		})
	}
	if err := enqueue(app.store); err != nil {
		t.Fatal(err)
	}
	_, err := app.store.Once(t.Context(), "handler", "1", func(context.Context) error { return nil })
	if err != nil {
		t.Errorf("the inbox: %v", err)
	}
	r.denied("app", "SELECT FROM {}outbox_messages", "UPDATE {}outbox_messages SET state = 0",
		"DELETE FROM {}outbox_messages", "TRUNCATE {}outbox_messages", "UPDATE {}outbox_lanes SET owner = NULL",
		"UPDATE {}outbox_meta SET version = 1", "CREATE TABLE {}extra ()")

	relays := r.store("relay", gormstore.Config{Archive: time.Hour})
	parked := relays.settlesAndRecovers()
	r.denied("relay", "SELECT FROM {}orders", "INSERT INTO {}outbox_messages DEFAULT VALUES",
		"UPDATE {}outbox_meta SET version = 1", "DELETE FROM {}outbox_lanes", "SELECT FROM {}outbox_audit",
		"CREATE TABLE {}extra ()")

	operators := r.store("operator", gormstore.Config{})
	found, err := operators.store.Find(t.Context(), outbox.Filter{Status: outbox.StatusParked}, 0, 10)
	if err != nil || len(found) != 1 || found[0].ID != parked.ID {
		t.Errorf("found %v, %v; want the parked message", found, err)
	}
	if _, err := operators.store.Backlog(t.Context()); err != nil {
		t.Errorf("the backlog: %v", err)
	}
	operators.act(operators.store.Requeue, parked)
	relays.holdsWhat(operators)
	skipped, err := operators.store.Find(t.Context(), outbox.Filter{Status: outbox.StatusSkipped}, 0, 10)
	if err != nil || len(skipped) != 1 {
		t.Fatalf("found %v, %v; want one skipped message", skipped, err)
	}
	operators.act(operators.store.Discard, skipped[0].Message)
	operators.oversees()
	r.denied("operator", "SELECT FROM {}orders", "INSERT INTO {}outbox_messages DEFAULT VALUES",
		"UPDATE {}outbox_audit SET by = ''", "DELETE FROM {}outbox_audit", "UPDATE {}outbox_meta SET version = 1")

	for _, privilege := range []string{"SELECT ON %s.outbox_meta", "INSERT ON %s.outbox_messages"} {
		privilege = fmt.Sprintf(privilege, r.schema)
		exec(t, r.admin, fmt.Sprintf("REVOKE %s FROM %sapp", privilege, r.prefix))
		if err := enqueue(r.store("app", gormstore.Config{}).store); err == nil {
			t.Errorf("an application enqueues without %s", privilege)
		}
		exec(t, r.admin, fmt.Sprintf("GRANT %s TO %sapp", privilege, r.prefix))
	}
}

// holdsWhat relays what was requeued, but not while an operator pauses it.
func (f *fixture) holdsWhat(operators *fixture) {
	f.Helper()
	r, scope := f.started(), outbox.Scope{Topic: "orders"}
	f.do(operators.store.Pause(f.Context(), because, scope))
	if c := r.claim(); len(c.Messages) != 0 {
		f.Errorf("claimed %d messages that are paused", len(c.Messages))
	}
	f.do(operators.store.Resume(f.Context(), because, scope))
	if c := r.claim(); len(c.Messages) != 1 {
		f.Errorf("claimed %d messages after the pause, want 1", len(c.Messages))
	}
}

// oversees looks at what the operator may see, ends the session of a relay, and purges the archive.
func (f *fixture) oversees() {
	f.Helper()
	ctx := f.Context()
	f.releasesOne()
	if _, err := f.store.Failures(ctx); err != nil {
		f.Errorf("failures: %v", err)
	}
	if entries, err := f.store.Audit(ctx, uuid.Nil, 0, 10); err != nil || len(entries) != 4 {
		f.Errorf("got %d acts, %v; want 4", len(entries), err)
	}
	if n, err := f.store.PurgeArchive(ctx, 0, 10); err != nil || n == 0 {
		f.Errorf("purged %d, %v; want what was delivered", n, err)
	}
}

// releasesOne ends the session of a relay that has a claim.
func (f *fixture) releasesOne() {
	f.Helper()
	sessions, err := f.store.Sessions(f.Context())
	if err != nil || len(sessions) != 1 || sessions[0].InFlight != 1 {
		f.Fatalf("got sessions %+v, %v; want one with a message in flight", sessions, err)
	}
	f.do(f.store.ReleaseLanes(f.Context(), sessions[0].ID))
	if sessions, err = f.store.Sessions(f.Context()); err != nil || len(sessions) != 0 {
		f.Errorf("got sessions %+v, %v; want none", sessions, err)
	}
}

// settlesAndRecovers does all that a relay does, with the messages a, a, b and c, and returns the one that it parks.
func (f *fixture) settlesAndRecovers() *outbox.Message {
	f.Helper()
	ctx := f.Context()
	r := f.started()
	c := r.claim()
	if len(c.Messages) != 4 {
		f.Fatalf("claimed %d messages, want 4", len(c.Messages))
	}
	var parked *outbox.Message
	verdicts := map[string]outbox.Verdict{"b": outbox.ParkKey, "c": outbox.Retry, "a": outbox.ParkOne}
	r.settle(c, func(m *outbox.Claimed) outbox.Outcome {
		verdict := verdicts[m.Key]
		if m.Key == "a" {
			verdicts["a"] = outbox.Delivered // the second one
		}
		if m.Key == "b" {
			parked = m.Message
		}
		return outbox.Outcome{Verdict: verdict}
	})
	r.eventually("the message to be due again", func() bool { return len(r.claim().Messages) > 0 })
	if err := f.store.RenewLanes(ctx, r.id, testLease); err != nil {
		f.Errorf("renew: %v", err)
	}
	if err := f.store.ReleaseLanes(ctx, r.id); err != nil { // with a claim, which is recovered
		f.Errorf("release and recover: %v", err)
	}
	r = f.started()
	r.eventually("the suspect to be claimed", func() bool {
		c = r.claim(suspects)
		return len(c.Messages) > 0
	})
	r.settle(c, all(outbox.Delivered))
	if err := f.store.Void(ctx, r.request()); err != nil {
		f.Errorf("void: %v", err)
	}
	if _, err := f.store.Prune(ctx, 10); err != nil {
		f.Errorf("prune: %v", err)
	}
	if _, err := f.store.Backlog(ctx); err != nil {
		f.Errorf("the backlog: %v", err)
	}
	f.do(f.store.ReleaseLanes(ctx, r.id))
	return parked
}
