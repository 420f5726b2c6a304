package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// transaction holds what was enqueued and is not committed.
type transaction struct {
	mu     sync.Mutex
	rows   []*row
	done   bool
	broken error // of a function that joined: the whole may only roll back
}

type txKey struct{ *Store }

var errPanic = errors.New("memstore: a joined function panicked")

// InTransaction runs fn in a transaction that fn's context carries, and joins one that ctx already carries. An error of
// a function that joined rolls back the whole, and is part of what the outer call then returns.
func (s *Store) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	if tx, ok := ctx.Value(txKey{s}).(*transaction); ok {
		return tx.join(ctx, fn)
	}
	tx := new(transaction)
	defer func() { _, _ = tx.finish() }()
	if err := fn(context.WithValue(ctx, txKey{s}, tx)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	rows, broken := tx.finish()
	if broken != nil {
		return fmt.Errorf("roll back what a joined function failed in: %w", broken)
	}
	return s.commit(rows)
}

func (tx *transaction) join(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	err = errPanic
	defer func() {
		tx.mu.Lock()
		defer tx.mu.Unlock()
		tx.broken = cmp.Or(tx.broken, err)
	}()
	err = fn(ctx)
	return err
}

// Enqueue stores messages in the transaction that ctx carries. An id that is stored already is an [*outbox.FieldError],
// of Enqueue or, if it came meanwhile, of the commit.
func (s *Store) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	tx, ok := ctx.Value(txKey{s}).(*transaction)
	if !ok {
		return outbox.ErrNoTransaction
	}
	copies, err := outbox.Prepare(ctx, s.config.Enqueue, messages...)
	if err != nil {
		return err
	}
	rows, err := s.number(copies)
	if err != nil {
		return err
	}
	return tx.add(rows)
}

// number gives each message its lane and its number, as an insert does.
func (s *Store) number(messages []*outbox.Message) ([]*row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	rows := make([]*row, len(messages))
	for i, m := range messages {
		if s.messages[m.ID] != nil {
			return nil, errStored()
		}
		m.CreatedAt = now
		s.seq++
		rows[i] = &row{Message: m, seq: s.seq, lane: outbox.LaneOf(m, len(s.lanes)), due: m.AvailableAt}
		if m.AvailableAt.After(now) {
			rows[i].state = scheduled
		}
	}
	return rows, nil
}

func errStored() error {
	const hint = "a message of this id is stored already"
	return &outbox.FieldError{Field: "ID", Code: outbox.CodeDuplicateID, Hint: hint}
}

func (tx *transaction) add(rows []*row) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.done {
		return outbox.ErrTransactionDone
	}
	tx.rows = append(tx.rows, rows...)
	return nil
}

// finish closes the transaction to further messages and returns those that it had, and why it must not commit.
func (tx *transaction) finish() (rows []*row, broken error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.done = true
	return tx.rows, tx.broken
}

// commit makes rows visible, all at once.
func (s *Store) commit(rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make(map[uuid.UUID]bool, len(rows))
	for _, r := range rows {
		if ids[r.ID] || s.messages[r.ID] != nil {
			return errStored()
		}
		ids[r.ID] = true
	}
	var lanes []int
	for _, r := range rows {
		s.messages[r.ID] = r
		s.lanes[r.lane].add(r)
		if !slices.Contains(lanes, r.lane) {
			lanes = append(lanes, r.lane)
		}
	}
	s.wake(lanes)
	return nil
}
