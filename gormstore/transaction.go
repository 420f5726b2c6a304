package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

// Transaction runs fn in a transaction and commits when fn returns nil; an error or a panic rolls back. A nil return
// means that the commit succeeded.
//
// When ctx already carries a transaction of this database, fn joins it, and an error of fn lets the whole
// transaction roll back with [ErrRollbackOnly]; use [Tx.Transaction] for a savepoint. Options cannot be given then.
func (s *Store) Transaction(ctx context.Context, fn func(tx *Tx) error, opts ...*sql.TxOptions) error {
	if tx, ok := s.FromContext(ctx); ok {
		if len(opts) > 0 {
			return ErrJoinedOptions
		}
		return tx.join(func() error { return fn(tx) })
	}
	db := s.db.Session(&gorm.Session{NewDB: true, Context: ctx})
	err := db.Transaction(func(db *gorm.DB) error {
		if err := s.dialect.begun(ctx, db.Statement.ConnPool, opts); err != nil {
			return err
		}
		return fn(s.In(db))
	}, opts...)
	return poolerError(causeOf(ctx, err))
}

// InTransaction is [Store.Transaction] for code that knows contexts only: fn's context carries the transaction.
func (s *Store) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.Transaction(ctx, func(tx *Tx) error { return fn(tx.Context()) })
}

// In wraps a transaction that the application opened with GORM itself. What Enqueue finds wrong with it, such as a
// handle without a transaction, is returned by Enqueue.
func (s *Store) In(tx *gorm.DB) *Tx { return &Tx{DB: tx, store: s} }

// FromContext returns the transaction of the store's database that ctx carries, whichever store on that database
// began it, under ctx.
func (s *Store) FromContext(ctx context.Context) (*Tx, bool) {
	tx, ok := ctx.Value(ctxKey{s.pool}).(*Tx)
	if !ok {
		return nil, false
	}
	return s.In(tx.DB.WithContext(ctx)), true
}

// Enqueue stores messages in the transaction that ctx carries, see [Tx.Enqueue]. Without one it returns
// outbox.ErrNoTransaction.
func (s *Store) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	tx, ok := s.FromContext(ctx)
	if !ok {
		return outbox.ErrNoTransaction
	}
	return tx.Enqueue(ctx, messages...)
}

// causeOf names the end of ctx where database/sql only knows that the transaction is gone.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// execIn runs a statement in the application's transaction, and returns how many rows it changed. SQLite's driver may
// leave out one whose ctx ends as it begins, and call that a success.
func execIn(ctx context.Context, q querier, text string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, text, args...)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
