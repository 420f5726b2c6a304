package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

// Tx is a transaction that can enqueue: GORM's own handle, whose scopes stay a Tx so that Enqueue is never lost.
// Begin, Commit and Rollback do not compile on it, because the transaction ends with the function that it was given to.
type Tx struct {
	*gorm.DB
	scope //nolint:unused // hides methods of DB
	store *Store
}

// scope makes Begin, Commit and Rollback ambiguous on a Tx.
//
//nolint:unused // never called: they hide the methods of DB
type scope struct{}

func (scope) Begin()    {} //nolint:unused // see above
func (scope) Commit()   {} //nolint:unused // see above
func (scope) Rollback() {} //nolint:unused // see above

// ctxKey finds the transaction of a database in a context, so that every store on that database joins it.
type ctxKey struct{ db *sql.DB }

// Context returns the context of the transaction, from which [Store.Enqueue], [Store.FromContext] and
// [Store.InTransaction] find it again.
func (tx *Tx) Context() context.Context {
	return context.WithValue(tx.Statement.Context, ctxKey{tx.store.pool}, tx)
}

// Enqueue stores messages so that they are published if, and only if, the transaction commits. ctx carries trace,
// correlation id and tenant, and need not carry the transaction.
//
// A refused message returns an *outbox.FieldError before any SQL, and the transaction stays usable. A repeated ID
// returns one with the code outbox.CodeDuplicateID, after which PostgreSQL only accepts a rollback. Other errors:
// outbox.ErrNoTransaction, outbox.ErrTransactionDone, [ErrTransactionLost], [ErrDryRun], [ErrFailedSession],
// [ErrOtherDatabase] and [ErrSchema]; then nothing was stored.
func (tx *Tx) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	return tx.store.enqueue(ctx, tx, messages)
}

// OnCommit runs fn once the outer transaction has committed, and never otherwise. fn runs in the committing
// goroutine, so it is short. It returns [ErrNoHook] for a transaction that was begun past the store's handle.
func (tx *Tx) OnCommit(fn func()) error {
	t, ok := hooked(tx.Statement.ConnPool)
	switch {
	case !ok:
		return ErrNoHook
	case t.done.Load():
		return outbox.ErrTransactionDone
	}
	t.whenCommitted(fn)
	return nil
}

// Transaction runs fn in a savepoint: its error undoes what fn did, messages included, and nothing else.
func (tx *Tx) Transaction(fn func(tx *Tx) error, opts ...*sql.TxOptions) error {
	return tx.DB.Transaction(func(db *gorm.DB) error { return fn(tx.store.In(db)) }, opts...)
}

// WithContext is GORM's, and stays a Tx.
func (tx *Tx) WithContext(ctx context.Context) *Tx { return tx.store.In(tx.DB.WithContext(ctx)) }

// Session is GORM's, and stays a Tx.
func (tx *Tx) Session(config *gorm.Session) *Tx { return tx.store.In(tx.DB.Session(config)) }

// Debug is GORM's, and stays a Tx.
func (tx *Tx) Debug() *Tx { return tx.store.In(tx.DB.Debug()) }

// check refuses every handle on which an insert would not be part of an open transaction of the store's database.
func (tx *Tx) check() error {
	if tx.DB == nil || tx.Statement == nil {
		return outbox.ErrNoTransaction
	}
	if tx.Error != nil {
		return fmt.Errorf("%w: %w", ErrFailedSession, tx.Error)
	}
	if tx.DryRun {
		return ErrDryRun
	}
	if _, ok := tx.Statement.ConnPool.(gorm.TxCommitter); !ok {
		return outbox.ErrNoTransaction
	}
	if t, ok := hooked(tx.Statement.ConnPool); ok {
		if t.done.Load() {
			return outbox.ErrTransactionDone
		}
		if err := t.loss(); err != nil {
			return err
		}
	}
	if pool, err := tx.DB.DB(); err == nil && pool != tx.store.pool {
		return ErrOtherDatabase
	}
	return nil
}

// join runs fn as part of the transaction, which it can no longer commit once fn has failed.
func (tx *Tx) join(fn func() error) (err error) {
	if err := tx.check(); err != nil {
		return err
	}
	t, ok := hooked(tx.Statement.ConnPool)
	if !ok {
		return fn()
	}
	returned := false
	defer func() {
		switch {
		case !returned:
			t.breakWith(errors.New("panic"))
		case err != nil:
			t.breakWith(err)
		}
	}()
	err = fn()
	returned = true
	return err
}
