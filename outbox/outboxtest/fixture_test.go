package outboxtest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// store is what an application has.
type store interface {
	outbox.Store
	outbox.Enqueuer
	outbox.Transactor
}

// onEach runs check on a store in memory, on one that cannot release lanes, and on a database.
func onEach(t *testing.T, check func(t *testing.T, s store)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) store{
		"memstore":          func(*testing.T) store { return memstore.New(memstore.Config{}) },
		"without_releasing": func(*testing.T) store { return newPlain() },
		"SQLite":            openSQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// plain is a store without optional capabilities.
type plain struct {
	outbox.Store
	outbox.Enqueuer
	outbox.Transactor
}

func newPlain() plain {
	s := memstore.New(memstore.Config{})
	return plain{s, s, s}
}

func openSQLite(t *testing.T) store {
	t.Helper()
	const options = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"
	file := filepath.Join(t.TempDir(), "app.db")
	db, err := gorm.Open(sqlite.Open(file+options), &gorm.Config{Logger: logger.Discard})
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
	if err := gormstore.Migrate(t.Context(), db, gormstore.MigrateConfig{}); err != nil {
		t.Fatal(err)
	}
	s, err := gormstore.Open(db, gormstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put commits messages in one transaction.
func put(t *testing.T, s store, messages ...*outbox.Message) {
	t.Helper()
	err := s.InTransaction(t.Context(), func(ctx context.Context) error { return s.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

// placed is the nth event of a key.
func placed(key string, n int) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// witness is a test that may fail without failing the one that looks on.
type witness struct {
	testing.TB
	failure string
}

func (*witness) Helper() {}

func (w *witness) Fatal(args ...any) {
	w.failure = fmt.Sprint(args...)
	runtime.Goexit()
}

func (w *witness) Fatalf(format string, args ...any) { w.Fatal(fmt.Sprintf(format, args...)) }

// failureOf returns how check fails its test, or "".
func failureOf(t *testing.T, check func(t testing.TB)) string {
	t.Helper()
	w := &witness{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(w)
	}()
	<-done
	return w.failure
}
