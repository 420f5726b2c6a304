package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/postroom/postroom/outbox"
)

// transaction holds what was enqueued and is not committed.
type transaction struct {
	mu   sync.Mutex
	rows []*row
	done bool
}

type txKey struct{ *Store }

// InTransaction runs fn in a transaction that fn's context carries, and joins one that ctx already carries.
func (s *Store) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, ok := ctx.Value(txKey{s}).(*transaction); ok {
		return fn(ctx)
	}
	tx := new(transaction)
	defer tx.finish()
	if err := fn(context.WithValue(ctx, txKey{s}, tx)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.commit(tx.finish())
	return nil
}

// Enqueue stores messages in the transaction that ctx carries.
func (s *Store) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	tx, ok := ctx.Value(txKey{s}).(*transaction)
	if !ok {
		return outbox.ErrNoTransaction
	}
	copies, err := outbox.Prepare(ctx, s.config.Enqueue, messages...)
	if err != nil {
		return err
	}
	return tx.add(s.number(copies))
}

// number gives each message its lane and its number, as an insert does.
func (s *Store) number(messages []*outbox.Message) []*row {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	rows := make([]*row, len(messages))
	for i, m := range messages {
		m.CreatedAt = now
		s.seq++
		rows[i] = &row{Message: m, seq: s.seq, lane: outbox.LaneOf(m, len(s.lanes)), due: m.AvailableAt}
		if m.AvailableAt.After(now) {
			rows[i].state = scheduled
		}
	}
	return rows
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

// finish closes the transaction to further messages and returns those that it had.
func (tx *transaction) finish() []*row {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.done = true
	return tx.rows
}

// commit makes rows visible, all at once.
func (s *Store) commit(rows []*row) {
	if len(rows) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lanes []int
	for _, r := range rows {
		s.messages[r.ID] = r
		s.lanes[r.lane].add(r)
		if !slices.Contains(lanes, r.lane) {
			lanes = append(lanes, r.lane)
		}
	}
	s.wake(lanes)
}
