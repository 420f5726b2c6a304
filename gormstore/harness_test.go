package gormstore_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

const testLease = time.Minute

// order is a business row.
type order struct {
	ID string `gorm:"primaryKey"`
}

// fixture is a database of its own with a store on it.
type fixture struct {
	testing.TB
	db    *gorm.DB
	store *gormstore.Store
}

// databases are what every behaviour is checked on.
var databases = map[string]func(t testing.TB, config gorm.Config) *gorm.DB{
	"postgres": openPostgres,
	"mariadb":  openMariaDB,
	"sqlite":   openSQLite,
}

// onEach runs check on every database.
func onEach(t *testing.T, check func(t *testing.T, f *fixture)) {
	t.Helper()
	onThese(t, databases, check)
}

func onThese(
	t *testing.T, databases map[string]func(t testing.TB, config gorm.Config) *gorm.DB,
	check func(t *testing.T, f *fixture),
) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{}))
		})
	}
}

func newFixture(t testing.TB, db *gorm.DB, lanes int, config gormstore.Config) *fixture {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	migration := gormstore.MigrateConfig{Name: config.Name, Schema: config.Schema, Lanes: lanes}
	if err := gormstore.Migrate(t.Context(), db, migration); err != nil {
		t.Fatal(err)
	}
	store, err := gormstore.Open(db, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AutoMigrate(&order{}); err != nil {
		t.Fatal(err)
	}
	return &fixture{TB: t, db: db, store: store}
}

func openPostgres(t testing.TB, config gorm.Config) *gorm.DB {
	t.Helper()
	return open(t, postgres.Open(postgresAddress(t)), config)
}

// postgresAddress makes a schema and returns the address at which it is the only one.
func postgresAddress(t testing.TB) string {
	t.Helper()
	schema := testservices.Name("gormstore")
	address := testservices.Postgres(t)
	admin := open(t, postgres.Open(address), gorm.Config{})
	exec(t, admin, fmt.Sprintf("CREATE SCHEMA %q", schema))
	t.Cleanup(func() { exec(t, admin, fmt.Sprintf("DROP SCHEMA %q CASCADE", schema)) })
	return withParameter(t, address, "search_path", schema)
}

func withParameter(t testing.TB, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("parse POSTGRES_URL: want postgres://user:password@host:port/database")
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // which pgx does not read as a blank
	return u.String()
}

const sqliteOptions = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)" +
	"&_txlock=immediate"

func openSQLite(t testing.TB, config gorm.Config) *gorm.DB {
	t.Helper()
	return open(t, sqlite.Open(filepath.Join(t.TempDir(), "app.db")+sqliteOptions), config)
}

func open(t testing.TB, dialector gorm.Dialector, config gorm.Config) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := gorm.Open(dialector, &config)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t testing.TB, db *gorm.DB, text string, args ...any) {
	t.Helper()
	if err := db.Exec(text, args...).Error; err != nil {
		t.Fatal(err)
	}
}

// message is the smallest valid one.
func message(key string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Key: key, Type: "order.placed", Payload: []byte("payload of " + key)}
}

// enqueue commits messages of the given keys, one transaction for all, and returns them.
func (f *fixture) enqueue(keys ...string) []*outbox.Message {
	f.Helper()
	messages := make([]*outbox.Message, len(keys))
	for i, k := range keys {
		messages[i] = message(k)
	}
	f.store1(messages...)
	return messages
}

// store1 commits messages.
func (f *fixture) store1(messages ...*outbox.Message) {
	f.Helper()
	err := f.store.Transaction(f.Context(), func(tx *gormstore.Tx) error {
		return tx.Enqueue(f.Context(), messages...)
	})
	if err != nil {
		f.Fatal(err)
	}
}

// count counts rows.
func (f *fixture) count(table string) int {
	f.Helper()
	var n int64
	if err := f.db.Table(table).Count(&n).Error; err != nil {
		f.Fatal(err)
	}
	return int(n)
}

// now is the database's clock, as SQL.
func (f *fixture) now() string {
	switch f.db.Name() {
	case "sqlite":
		return "CAST(unixepoch('subsec') * 1000000 AS INTEGER)"
	case "mysql":
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	}
	return "clock_timestamp()"
}

// key is an id as the database holds it.
func (f *fixture) key(id uuid.UUID) any {
	if f.db.Name() == "mysql" {
		return id[:]
	}
	return id.String()
}

// field reads one column of a stored message.
func (f *fixture) field(m *outbox.Message, column string) string {
	f.Helper()
	var value string
	text := "text"
	if f.db.Name() == "mysql" {
		text = "char"
	}
	text = "SELECT coalesce(CAST(" + column + " AS " + text + "), '') FROM outbox_messages WHERE id = ?"
	row := f.db.Raw(text, f.key(m.ID)).Row()
	if err := row.Scan(&value); err != nil {
		f.Fatalf("read %s of a message: %v", column, err)
	}
	return value
}

// relay is one session as an engine would drive it.
type relay struct {
	*fixture
	id    uuid.UUID
	lanes []outbox.Lease
}

func (f *fixture) relay() *relay { return &relay{fixture: f, id: uuid.New()} }

// started is a relay that holds all lanes that it gets.
func (f *fixture) started() *relay {
	f.Helper()
	r := f.relay()
	r.acquire()
	return r
}

// acquire is a round with testLease; lanes that the last round called draining are drained.
func (r *relay) acquire() outbox.Lanes {
	r.Helper()
	lanes, err := r.tryAcquire(testLease)
	if err != nil {
		r.Fatal(err)
	}
	return lanes
}

func (r *relay) tryAcquire(lease time.Duration) (outbox.Lanes, error) {
	request := outbox.LaneRequest{Session: r.id, Relay: "test", Lease: lease}
	for _, l := range r.lanes {
		if l.Draining {
			request.Drained = append(request.Drained, l.Lane)
		}
	}
	lanes, err := r.store.AcquireLanes(r.Context(), request)
	if err == nil {
		r.lanes = lanes.Held
	}
	return lanes, err
}

func (r *relay) request() outbox.ClaimRequest {
	request := outbox.ClaimRequest{Token: uuid.New(), Session: r.id, Limit: 500, Bytes: 8 << 20}
	for _, l := range r.lanes {
		if !l.Draining {
			request.Lanes = append(request.Lanes, l)
		}
	}
	return request
}

// claim claims with what edit makes of the usual request.
func (r *relay) claim(edit ...func(*outbox.ClaimRequest)) outbox.Claim {
	r.Helper()
	request := r.request()
	for _, e := range edit {
		e(&request)
	}
	claim, err := r.store.Claim(r.Context(), request)
	if err != nil {
		r.Fatal(err)
	}
	return claim
}

func suspects(r *outbox.ClaimRequest) { r.Suspect = true }

func limit(n int) func(*outbox.ClaimRequest) {
	return func(r *outbox.ClaimRequest) { r.Limit = n }
}

// settle gives each message of a claim the outcome that decide returns.
func (r *relay) settle(c outbox.Claim, decide func(m *outbox.Claimed) outbox.Outcome) int {
	r.Helper()
	n, err := r.store.Settle(r.Context(), c, outcomes(c, decide))
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func outcomes(c outbox.Claim, decide func(m *outbox.Claimed) outbox.Outcome) []outbox.Outcome {
	list := make([]outbox.Outcome, len(c.Messages))
	for i, m := range c.Messages {
		list[i] = decide(m)
		list[i].Claimed = m
	}
	return list
}

// all is the same verdict for everybody.
func all(v outbox.Verdict) func(*outbox.Claimed) outbox.Outcome {
	return func(*outbox.Claimed) outbox.Outcome { return outbox.Outcome{Verdict: v} }
}

// idsOf are the ids of a claim in its order.
func idsOf(c outbox.Claim) []uuid.UUID {
	var ids []uuid.UUID
	for _, m := range c.Messages {
		ids = append(ids, m.ID)
	}
	return ids
}

func ids(messages ...*outbox.Message) []uuid.UUID {
	var list []uuid.UUID
	for _, m := range messages {
		list = append(list, m.ID)
	}
	return list
}

// eventually waits for a condition, which the database's clock brings about.
func (f *fixture) eventually(what string, condition func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			f.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
