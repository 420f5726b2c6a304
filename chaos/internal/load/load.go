// Package load writes to the outbox as applications do, and keeps a journal of what committed outside the database.
package load

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/verify"
)

// Config says how much is written.
type Config struct {
	Seed    uint64
	Rate    int // messages a second
	Writers int // at the same time
	Kafka   bool
	Poison  time.Duration // pause between two messages that cannot be delivered; 0 is none of them
}

// Load is all bare transactions of a trial.
type Load struct {
	config  Config
	db      *gorm.DB
	store   *gormstore.Store
	journal *verify.Writer

	written atomic.Int64 // messages that are known to be committed
	backlog atomic.Int64

	mu      sync.Mutex
	inDoubt []transaction
}

// transaction is one whose messages were enqueued.
type transaction struct {
	id      uuid.UUID
	records []verify.Record
}

// The schema beside the outbox: a row to lock for each key, which numbers what is committed under it, and a row for
// each transaction, which tells what became of one whose commit had no answer.
const schema = `
CREATE TABLE chaos_keys (key text PRIMARY KEY, n bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE chaos_commits (id uuid PRIMARY KEY)`

// Open connects to the database at url, which has the outbox, and makes the writers' own tables.
func Open(ctx context.Context, url string, config Config, journal *verify.Writer) (*Load, error) {
	db, err := gorm.Open(postgres.Open(url+"&application_name=chaos-writer"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("open the writers' database: %w", err)
	}
	silent := slog.New(slog.DiscardHandler) // it would warn of the log of claims
	store, err := gormstore.Open(db, gormstore.Config{Logger: silent})
	if err != nil {
		return nil, err
	}
	if err := db.WithContext(ctx).Exec(schema).Error; err != nil {
		return nil, fmt.Errorf("make the writers' tables: %w", err)
	}
	for _, key := range keys() {
		if err := db.WithContext(ctx).Exec("INSERT INTO chaos_keys (key) VALUES (?)", key).Error; err != nil {
			return nil, fmt.Errorf("make the writers' keys: %w", err)
		}
	}
	return &Load{config: config, db: db, store: store, journal: journal}, nil
}

// Store is the outbox as an operator of the same process uses it.
func (l *Load) Store() *gormstore.Store { return l.store }

// DB is the database of the trial.
func (l *Load) DB() *gorm.DB { return l.db }

// Written counts the messages that are known to be committed.
func (l *Load) Written() int { return int(l.written.Load()) }

// Close ends the connections.
func (l *Load) Close() error {
	pool, err := l.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// maxBacklog is where writers wait for relays: a trial is about faults, not about backlogs.
const maxBacklog = 40_000

// Run writes until ctx ends. It returns an error only if the journal could not be kept.
func (l *Load) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { l.watch(ctx); return nil })
	for n := range l.config.Writers {
		group.Go(func() error { return newWriter(l, n).run(ctx) })
	}
	return group.Wait()
}

// watch keeps the size of the backlog at hand.
func (l *Load) watch(ctx context.Context) {
	for wait.For(ctx, time.Second) {
		if n, err := l.Backlog(ctx); err == nil {
			l.backlog.Store(int64(n))
		}
	}
}

// Backlog counts the messages that the outbox holds.
func (l *Load) Backlog(ctx context.Context) (n int, err error) {
	err = l.db.WithContext(ctx).Raw("SELECT count(*) FROM outbox_messages").Scan(&n).Error
	return n, err
}

// Resolve asks the database about commits that had no answer, and journals what became of them.
func (l *Load) Resolve(ctx context.Context) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.inDoubt) > 0 {
		t := l.inDoubt[0]
		var found int
		err := l.db.WithContext(ctx).Raw("SELECT count(*) FROM chaos_commits WHERE id = ?", t.id).Scan(&found).Error
		if err != nil {
			return n, fmt.Errorf("look for a commit: %w", err)
		}
		kind := verify.Aborted
		if found > 0 {
			kind = verify.Committed
		}
		if err := l.note(kind, t); err != nil {
			return n, err
		}
		l.inDoubt = l.inDoubt[1:]
		n++
	}
	return n, nil
}

// note journals the outcome of a transaction.
func (l *Load) note(kind verify.Kind, t transaction) error {
	at := time.Now()
	for _, r := range t.records {
		if r.Kind == "" { // not rolled back by itself
			r.Kind = kind
		}
		r.At = at
		if err := l.journal.Write(r); err != nil {
			return fmt.Errorf("keep the journal: %w", err)
		}
		if r.Kind == verify.Committed {
			l.written.Add(1)
		}
	}
	return nil
}

func (l *Load) doubt(t transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inDoubt = append(l.inDoubt, t)
}
