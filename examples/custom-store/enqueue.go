package customstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// transaction holds what was enqueued and is not committed.
type transaction struct {
	mu       sync.Mutex
	messages []*outbox.Message
	done     bool
	broken   error // of a function that joined: the whole may only roll back
}

type transactionKey struct{ *Store }

// InTransaction runs fn in a transaction that fn's context carries, and joins one that ctx already carries.
func (s *Store) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	if tx, ok := ctx.Value(transactionKey{s}).(*transaction); ok {
		return tx.join(ctx, fn)
	}
	tx := new(transaction)
	defer func() { _, _ = tx.finish() }()
	if err := fn(context.WithValue(ctx, transactionKey{s}, tx)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	messages, broken := tx.finish()
	if broken != nil {
		return fmt.Errorf("roll back what a joined function failed in: %w", broken)
	}
	s.commit(messages)
	return nil
}

func (tx *transaction) join(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	err = errors.New("a joined function panicked")
	defer func() {
		tx.mu.Lock()
		defer tx.mu.Unlock()
		tx.broken = cmp.Or(tx.broken, err)
	}()
	err = fn(ctx)
	return err
}

// Enqueue stores messages in the transaction that ctx carries.
func (s *Store) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	tx, ok := ctx.Value(transactionKey{s}).(*transaction)
	if !ok {
		return outbox.ErrNoTransaction
	}
	copies, err := outbox.Prepare(ctx, outbox.EnqueueConfig{}, messages...)
	if err != nil {
		return err
	}
	return tx.add(copies)
}

func (tx *transaction) add(messages []*outbox.Message) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.done {
		return outbox.ErrTransactionDone
	}
	tx.messages = append(tx.messages, messages...)
	return nil
}

func (tx *transaction) finish() (messages []*outbox.Message, broken error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.done = true
	return tx.messages, tx.broken
}

// commit writes the messages under a mark, and then, by one row, makes all of them count. Numbers are taken here and
// not in Enqueue: a writer that waited for another one of its key thus has the higher number. A process that dies in
// between leaves rows that never count, which a real store would sweep, as it would the marks.
func (s *Store) commit(messages []*outbox.Message) {
	if len(messages) == 0 {
		return
	}
	mark := txKey(uuid.New())
	byLane := make(map[int][]*outbox.Message)
	for _, m := range messages {
		n := outbox.LaneOf(m, s.lanes)
		byLane[n] = append(byLane[n], m)
	}
	for _, n := range slices.Sorted(maps.Keys(byLane)) {
		s.insert(n, byLane[n], mark)
	}
	s.table.CompareAndSwap(mark, 0, []byte("committed"))
}

func (s *Store) insert(n int, messages []*outbox.Message, mark string) {
	var number int64
	edit(s.table, nextKey(n), func(next *int64, _ bool) bool {
		number = *next
		*next += int64(len(messages))
		return true
	})
	now := s.table.Now()
	for _, m := range messages {
		m.CreatedAt = now
		row := message{Message: m, Number: number, Tx: mark, standing: standing{Due: m.AvailableAt}}
		if m.AvailableAt.After(now) {
			row.State = scheduled
		}
		s.table.CompareAndSwap(messageKey(n, number), 0, encode(row))
		number++
	}
}
