package middleware

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/postroom/postroom/outbox"
)

var (
	errRollback = errors.New("middleware: the answer rolls back")
	errNotRun   = errors.New("middleware: the transactor did not run its function")
	errTwice    = errors.New("middleware: a request cannot be handled twice: the transactor must not retry")
)

// transaction is one call of InTransaction, turned inside out: begin returns while the transaction is open, and commit
// or rollback let its function return. So the handler can stay on its request's goroutine, and an answer that is too
// large to be held can be decided in the middle of the handler.
type transaction struct {
	ctx     context.Context // carries the transaction
	finish  func()          // lets the function return, and waits for InTransaction
	ended   bool
	verdict error // what the function returns
	err     error // what InTransaction returned
}

func begin(ctx context.Context, t outbox.Transactor) (*transaction, error) {
	tx := &transaction{}
	open, finish := iter.Pull(func(yield func(context.Context) bool) {
		entered := false
		tx.err = t.InTransaction(ctx, func(ctx context.Context) error {
			if entered {
				return errTwice
			}
			entered = true
			yield(ctx)
			return tx.verdict
		})
	})
	txCtx, isOpen := open()
	if !isOpen {
		return nil, cmp.Or(tx.err, errNotRun)
	}
	tx.ctx, tx.finish = txCtx, finish
	return tx, nil
}

func (tx *transaction) commit() error { return tx.end(nil) }

func (tx *transaction) rollback() { _ = tx.end(errRollback) }

// end lets the function return the verdict, and returns what InTransaction returns. Only the first call counts.
func (tx *transaction) end(verdict error) error {
	if tx.ended {
		return tx.err
	}
	tx.ended = true
	tx.verdict = verdict
	tx.finish()
	return tx.err
}
