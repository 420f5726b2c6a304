package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
)

// hook is the connection pool of a GORM handle, and gives what GORM lacks: a signal after the outer commit. It is
// installed once per handle and shared by the stores opened on it.
type hook struct {
	gorm.ConnPool
	db     *sql.DB
	commit func(ctx context.Context, tx gorm.Tx) error

	raisers  sync.Map // model type → whether it raises events
	captures sync.Map // table, see tableOf → capture

	mu     sync.Mutex
	stores map[names]bool
	opened []*Store // in order
}

// installHook puts a hook under db, or returns the one that is there. It does no I/O.
func installHook(db *gorm.DB, commit func(ctx context.Context, tx gorm.Tx) error) (*hook, error) {
	if h, ok := db.ConnPool.(*hook); ok {
		return h, nil
	}
	if _, ok := db.Statement.ConnPool.(gorm.TxCommitter); ok {
		return nil, errors.New("open on a transaction: give Open the handle that gorm.Open returned")
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("find the connection pool: %w", err)
	}
	h := &hook{ConnPool: db.ConnPool, db: pool, commit: commit, stores: map[names]bool{}}
	if err := h.observe(db); err != nil {
		return nil, fmt.Errorf("register callbacks: %w", err)
	}
	db.ConnPool, db.Statement.ConnPool = h, h
	return h, nil
}

// register refuses a second store of the same names.
func (h *hook) register(s *Store) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stores[s.names] {
		return ErrOpened
	}
	h.stores[s.names] = true
	h.opened = append(h.opened, s)
	return nil
}

// GetDBConn lets gorm.DB.DB find the pool.
func (h *hook) GetDBConn() (*sql.DB, error) { return h.db, nil }

// BeginTx begins a transaction whose commit is seen.
func (h *hook) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	pool, err := h.begin(ctx, opts)
	if err != nil {
		return nil, err
	}
	if tx, ok := pool.(gorm.Tx); ok {
		return &hookTx{Tx: tx, db: h.db, ctx: ctx, commit: h.commit}, nil
	}
	return pool, nil
}

func (h *hook) begin(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	switch b := h.ConnPool.(type) {
	case gorm.TxBeginner:
		return b.BeginTx(ctx, opts)
	case gorm.ConnPoolBeginner:
		return b.BeginTx(ctx, opts)
	}
	return nil, gorm.ErrInvalidTransaction
}

// hookTx is one transaction begun through the hook. It implements the whole of gorm.Tx, which GORM's prepared
// statements need.
type hookTx struct {
	gorm.Tx
	db     *sql.DB
	ctx    context.Context // that it was begun with: its end rolls back
	commit func(ctx context.Context, tx gorm.Tx) error
	done   atomic.Bool

	mu       sync.Mutex
	lost     error // why the database has rolled it back
	broken   error // why it may only be rolled back
	onCommit []func()
	journal  journal
	lanes    map[*Store]map[int]bool
}

// GetDBConn lets gorm.DB.DB find the pool.
func (t *hookTx) GetDBConn() (*sql.DB, error) { return t.db, nil }

// Commit commits, unless a joined transaction failed or the database has given it up, and then tells who asked.
func (t *hookTx) Commit() error {
	t.done.Store(true)
	if lost := t.loss(); lost != nil {
		_ = t.Rollback() // of nothing
		return lost
	}
	if broken := t.failure(); broken != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrRollbackOnly, broken), t.Rollback())
	}
	if err := t.commit(t.ctx, t.Tx); err != nil {
		t.rolledBack()
		return err
	}
	t.committed()
	return nil
}

// Rollback rolls back. Nobody is told.
func (t *hookTx) Rollback() error {
	t.done.Store(true)
	defer t.rolledBack()
	return t.Tx.Rollback()
}

func (t *hookTx) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}

// breakWith makes the transaction rollback-only; the first reason stays.
func (t *hookTx) breakWith(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken == nil {
		t.broken = err
	}
}

// lose notes that nothing of the transaction is left. What follows would be another one, of half the work.
func (t *hookTx) lose(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost == nil {
		t.lost = fmt.Errorf("%w: %w", ErrTransactionLost, err)
	}
}

func (t *hookTx) loss() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

func (t *hookTx) whenCommitted(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onCommit = append(t.onCommit, fn)
}

// wrote notes the lanes of new messages of s. A savepoint that rolls back leaves the note, which costs one poll.
func (t *hookTx) wrote(s *Store, rows []newRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lanes == nil {
		t.lanes = map[*Store]map[int]bool{}
	}
	if t.lanes[s] == nil {
		t.lanes[s] = map[int]bool{}
	}
	for _, r := range rows {
		t.lanes[s][r.lane] = true
	}
}

func (t *hookTx) committed() {
	t.mu.Lock()
	lanes, fns := t.lanes, t.onCommit
	t.journal.commit()
	t.mu.Unlock()
	for s, set := range lanes {
		s.committed(news{lanes: set})
	}
	for _, fn := range fns {
		fn()
	}
}

// hooked returns the hook's transaction under pool, looking through GORM's prepared statements.
func hooked(pool gorm.ConnPool) (*hookTx, bool) {
	for {
		switch p := pool.(type) {
		case *hookTx:
			return p, true
		case *gorm.PreparedStmtTX:
			pool = p.Tx
		default:
			return nil, false
		}
	}
}
