package gormstore

import (
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// Store is the outbox in one database: it captures messages for applications and serves relays. It is safe for use
// by many goroutines.
type Store struct {
	db      *gorm.DB
	pool    *sql.DB
	config  Config
	names   names
	dialect dialect
	log     *slog.Logger
	schema  schema
	id      string // tells this store's announcements from those of others

	wakers   wakers
	notifier notifier
	deafness sync.Once     // warned of
	keys     atomic.Uint64 // idempotency keys taken, for sweeps
	handled  atomic.Uint64 // messages, for sweeps

	mu       sync.Mutex
	sessions map[uuid.UUID]*session
}

var (
	_ outbox.Enqueuer     = (*Store)(nil)
	_ outbox.Enqueuer     = (*Tx)(nil)
	_ outbox.Transactor   = (*Store)(nil)
	_ outbox.Store        = (*Store)(nil)
	_ outbox.LaneRenewer  = (*Store)(nil)
	_ outbox.LaneReleaser = (*Store)(nil)
	_ outbox.Waker        = (*Store)(nil)
	_ outbox.Inspector    = (*Store)(nil)
	_ outbox.Backlogger   = (*Store)(nil)
	_ idempotency.Store   = (*Store)(nil)
	_ outbox.Inbox        = (*Store)(nil)
	_ outbox.Pruner       = (*Store)(nil)
	_ outbox.Pauser       = (*Store)(nil)
	_ outbox.Overseer     = (*Store)(nil)
)

// Open makes a store on db, the handle that gorm.Open returned, and installs the commit hook under it. It does no
// I/O: the first use checks the tables. Call it before db is used by other goroutines. It returns [ErrOpened] for a
// second store of the same schema and name on db, a [*NameError], [ErrRetention] or [ErrDialect].
func Open(db *gorm.DB, config Config) (*Store, error) {
	if err := config.checkInbox(); err != nil {
		return nil, err
	}
	n, err := newNames(db, config.Schema, config.Name)
	if err != nil {
		return nil, err
	}
	if err := config.checkArchive(); err != nil {
		return nil, err
	}
	d, err := newDialect(db, n)
	if err != nil {
		return nil, err
	}
	h, err := installHook(db, d.commit)
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	s := &Store{
		db: db, pool: h.db, config: config, names: n, dialect: d, log: config.Logger,
		id: uuid.NewString(), sessions: map[uuid.UUID]*session{},
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if err := h.register(s); err != nil {
		return nil, fmt.Errorf("%w: %s", err, n.table("messages"))
	}
	return s, nil
}

// control is the pool for renewals.
func (s *Store) control() *sql.DB {
	if s.config.Control != nil {
		return s.config.Control
	}
	return s.pool
}
