package gormstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "github.com/lib/pq"              // the driver "postgres"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/outboxtest"
	"github.com/postroom/postroom/outbox/storetest"
)

// drivers are the ways in which applications reach PostgreSQL, beside GORM's default.
var drivers = map[string]func(t testing.TB, address string) *gorm.DB{
	"pgx_PrepareStmt": func(t testing.TB, address string) *gorm.DB {
		return open(t, postgres.Open(address), gorm.Config{PrepareStmt: true})
	},
	"pgx_PreferSimpleProtocol": func(t testing.TB, address string) *gorm.DB {
		return open(t, postgres.New(postgres.Config{DSN: address, PreferSimpleProtocol: true}), gorm.Config{})
	},
	"pgx_simple_protocol": inMode("simple_protocol"),
	"pgx_exec":            inMode("exec"),
	"pgx_describe_exec":   inMode("describe_exec"),
	"pgx_cache_describe":  inMode("cache_describe"),
	"pq": func(t testing.TB, address string) *gorm.DB {
		return openPool(t, sql.Open, "postgres", address, gorm.Config{})
	},
	"pq_PrepareStmt": func(t testing.TB, address string) *gorm.DB {
		return openPool(t, sql.Open, "postgres", address, gorm.Config{PrepareStmt: true})
	},
	"pq_binary_parameters": func(t testing.TB, address string) *gorm.DB {
		return openPool(t, sql.Open, "postgres", withParameter(t, address, "binary_parameters", "yes"), gorm.Config{})
	},
	"pgx_under_OpenTelemetry": func(t testing.TB, address string) *gorm.DB {
		return openPool(t, openTraced, "pgx", address, gorm.Config{})
	},
	"pq_under_OpenTelemetry": func(t testing.TB, address string) *gorm.DB {
		return openPool(t, openTraced, "postgres", address, gorm.Config{})
	},
	"dbresolver": withReplica,
}

// inMode is pgx with another way of sending statements.
func inMode(mode string) func(t testing.TB, address string) *gorm.DB {
	return func(t testing.TB, address string) *gorm.DB {
		return open(t, postgres.Open(withParameter(t, address, "default_query_exec_mode", mode)), gorm.Config{})
	}
}

func openTraced(driver, address string) (*sql.DB, error) { return otelsql.Open(driver, address) }

func openPool(
	t testing.TB, connect func(driver, address string) (*sql.DB, error), driver, address string, config gorm.Config,
) *gorm.DB {
	t.Helper()
	pool, err := connect(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, postgres.New(postgres.Config{Conn: pool}), config)
}

func withReplica(t testing.TB, address string) *gorm.DB {
	t.Helper()
	db := open(t, postgres.Open(address), gorm.Config{})
	addReplica(t, db, address)
	return db
}

// addReplica sends GORM's reads where everything fails: no table is there.
func addReplica(t testing.TB, db *gorm.DB, address string) {
	t.Helper()
	replica := postgres.Open(withParameter(t, address, "search_path", "pg_catalog"))
	if err := db.Use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{replica}})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := dbresolverOf(db).Call(func(pool gorm.ConnPool) error {
			if p, ok := pool.(*sql.DB); ok {
				return p.Close()
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func dbresolverOf(db *gorm.DB) *dbresolver.DBResolver {
	return db.Plugins[(&dbresolver.DBResolver{}).Name()].(*dbresolver.DBResolver)
}

// quick is an address at which a commit does not wait for the disk.
func quick(t testing.TB) string {
	t.Helper()
	return withParameter(t, postgresAddress(t), "options", "-csynchronous_commit=off")
}

func TestDrivers(t *testing.T) {
	for name, connect := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, connect(t, quick(t)), 8, gormstore.Config{StrictKeys: true})
			f.livesThrough(f.orderOf)
			f.bringsPayloads()
		})
	}
}

// TestDrivers_conformance: lib/pq, which is farthest from GORM's default, does all that a store must do.
func TestDrivers_conformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store {
		return conformant{newFixture(t, drivers["pq"](t, quick(t)), 16, gormstore.Config{}).store, false}
	})
}

// orderOf writes a business row.
func (f *fixture) orderOf(tx *gormstore.Tx, id string) error { return tx.Create(&order{ID: id}).Error }

// livesThrough takes messages through everything that a store does, so that each statement is sent.
func (f *fixture) livesThrough(write func(tx *gormstore.Tx, id string) error) {
	f.Helper()
	ctx := f.Context()
	undone := f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
		return errors.Join(write(tx, "0"), tx.Enqueue(ctx, message("0")), errUndo)
	})
	if !errors.Is(undone, errUndo) {
		f.Fatalf("got %v, want the function's error", undone)
	}
	one, list := message("one"), []*outbox.Message{message("a"), message("a"), message(`b"\`), message("")}
	list[2].Payload, list[3].Payload = nil, []byte{}
	list[0].Headers = []outbox.Header{{Name: "x", Value: `é"\`}}
	err := f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
		return errors.Join(write(tx, "1"), tx.Enqueue(ctx, one), tx.Enqueue(ctx, list...))
	})
	if err != nil {
		f.Fatal(err)
	}

	r := f.started()
	want := append([]*outbox.Message{one}, list...)
	c := r.claim()
	if diff := cmp.Diff(shown(want), shownOf(c.Messages)); diff != "" {
		f.Fatalf("claimed (-want +got):\n%s", diff)
	}
	verdicts := map[uuid.UUID]outbox.Verdict{
		one.ID: outbox.Delivered, list[0].ID: outbox.ParkKey, list[1].ID: outbox.Release, list[2].ID: outbox.Retry,
		list[3].ID: outbox.Delivered,
	}
	r.settle(c, func(m *outbox.Claimed) outbox.Outcome {
		return outbox.Outcome{Verdict: verdicts[m.ID], Class: outbox.ClassPermanent, Err: errors.New(`no "\ é`)}
	})
	f.operates(list[0])
	r.crashes(list[0], list[1], list[2])
}

// operates requeues the message that was parked.
func (f *fixture) operates(parked *outbox.Message) {
	f.Helper()
	records, err := f.store.Find(f.Context(), outbox.Filter{Status: outbox.StatusParked, Error: `"\`}, 0, 10)
	if err != nil || len(records) != 1 || records[0].ID != parked.ID || records[0].LastError != `no "\ é` {
		f.Fatalf("found %+v, %v; want the parked message", records, err)
	}
	n, err := f.store.Requeue(f.Context(), outbox.Act{By: "test", Reason: "again"}, parked.ID)
	if n != 1 || err != nil {
		f.Fatalf("requeued %d messages, %v; want one", n, err)
	}
}

// crashes lets a session end with a claim, and another deliver what it left, as suspects.
func (r *relay) crashes(rest ...*outbox.Message) {
	r.Helper()
	if err := r.store.RenewLanes(r.Context(), r.id, testLease); err != nil {
		r.Fatal(err)
	}
	perKey := func(q *outbox.ClaimRequest) { q.PerKey = 8 }
	if c := r.claim(perKey); len(c.Messages) == 0 {
		r.Fatal("nothing was claimed after the requeue")
	}
	if err := r.store.ReleaseLanes(r.Context(), r.id); err != nil {
		r.Fatal(err)
	}
	left := map[uuid.UUID]bool{}
	for _, m := range rest {
		left[m.ID] = true
	}
	next := r.fixture.started()
	r.eventually("all to be delivered", func() bool {
		for _, edit := range []func(*outbox.ClaimRequest){suspects, perKey} {
			c := next.claim(edit)
			for _, m := range c.Messages {
				delete(left, m.ID)
			}
			if len(c.Messages) > 0 {
				next.settle(c, all(outbox.Delivered))
			}
		}
		return len(left) == 0
	})
	voided := next.request()
	if err := r.store.Void(r.Context(), voided); err != nil {
		r.Fatal(err)
	}
	if err := r.store.ReleaseLanes(r.Context(), next.id); err != nil {
		r.Fatal(err)
	}
}

// shown is what a broker would see of messages.
func shown(messages []*outbox.Message) []string {
	var list []string
	for _, m := range messages {
		list = append(list, fmt.Sprintf("%s %q %#v %v", m.ID, m.Key, m.Payload, m.Headers))
	}
	return list
}

func shownOf(claimed []*outbox.Claimed) []string {
	var messages []*outbox.Message
	for _, c := range claimed {
		messages = append(messages, c.Message)
	}
	return shown(messages)
}

// TestResolver: whether dbresolver came before the store or after it, the outbox never reads from a replica.
func TestResolver(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("before_the_store_%v_leaves_the_outbox_on_its_source", first), func(t *testing.T) {
			t.Parallel()
			address := quick(t)
			db := open(t, postgres.Open(address), gorm.Config{})
			if first {
				addReplica(t, db, address)
			}
			f := newFixture(t, db, 8, gormstore.Config{})
			if !first {
				addReplica(t, db, address)
			}
			woken := f.store.Wake(t.Context())
			err := f.store.Transaction(t.Context(), func(tx *gormstore.Tx) error {
				if err := tx.First(&order{}).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
					t.Errorf("a read inside the transaction got %v, want no record", err)
				}
				return both(t.Context(), tx, "1")
			})
			if err != nil {
				t.Fatal(err)
			}
			f.woken(woken)
			if err := db.First(&order{}).Error; err == nil || errors.Is(err, gorm.ErrRecordNotFound) {
				t.Errorf("a plain read got %v, want the replica's missing table", err)
			}
			if got := f.started().claim().Messages; len(got) != 1 {
				t.Errorf("claimed %d messages, want 1", len(got))
			}
			written := db.Clauses(dbresolver.Write).Begin() // picked by hand: begun past the hook, perhaps
			if err := both(t.Context(), f.store.In(written), "2"); err != nil {
				t.Error(err)
			}
			if err := written.Commit().Error; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPools: a relay, its renewals and writers share a pool that is too small for all of them, and nobody waits for a
// connection that another will not give back.
func TestPools(t *testing.T) {
	for _, size := range []int{1, 2} {
		for _, control := range []bool{false, true} {
			t.Run(fmt.Sprintf("of_%d_with_Control_%v_deliver_everything", size, control), func(t *testing.T) {
				t.Parallel()
				address := quick(t)
				config := gormstore.Config{}
				if control {
					config.Control = poolOf(t, open(t, postgres.Open(address), gorm.Config{}))
				}
				f := newFixture(t, open(t, postgres.Open(address), gorm.Config{}), 8, config)
				poolOf(t, f.db).SetMaxOpenConns(size)
				f.relaysBeside(4, 25)
			})
		}
	}
}

// relaysBeside runs a relay beside writers until all that they wrote has been published.
func (f *fixture) relaysBeside(writers, each int) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 60*time.Second)
	defer cancel()
	recorder := &outboxtest.Recorder{}
	relay, err := outbox.NewRelay(f.store, recorder, outbox.RelayConfig{
		Lease: 3 * time.Second, Renew: 20 * time.Millisecond, Poll: 100 * time.Millisecond,
	})
	if err != nil {
		f.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := background(func() (struct{}, error) { return struct{}{}, relay.Run(running) })
	results := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for i := range each {
				err = errors.Join(err, f.store.Transaction(ctx, func(tx *gormstore.Tx) error {
					return both(ctx, tx, fmt.Sprint(w, "-", i))
				}))
			}
			results <- err
		}()
	}
	for range writers {
		if err := <-results; err != nil {
			f.Error(err)
		}
	}
	f.eventually("everything to be published", func() bool { return len(recorder.Messages()) >= writers*each })
	stop()
	if r := <-ended; r.err != nil {
		f.Errorf("the relay ended with %v", r.err)
	}
	if left, err := f.store.Find(f.Context(), outbox.Filter{}, 0, 10); err != nil || len(left) > 0 {
		f.Errorf("%d messages are left, %v; want none", len(left), err)
	}
}

func poolOf(t testing.TB, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return pool
}
