package idempotencytest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// Transactional is a store of messages, such as *memstore.Store.
type Transactional interface {
	outbox.Enqueuer
	outbox.Transactor
}

// Memory remembers keys in memory, and records answers together with the messages of another store. It is the
// reference implementation, and for tests of applications that have no database at hand. Its clock is the process's.
type Memory struct {
	Transactional

	mu   sync.Mutex
	keys map[[32]byte]*entry
}

// NewMemory returns a Memory without keys. Use it in place of store: its transactions are those of store.
func NewMemory(store Transactional) *Memory {
	return &Memory{Transactional: store, keys: make(map[[32]byte]*entry)}
}

// entry is what is held under a key.
type entry struct {
	idempotency.Record
	until time.Time     // the end of the lease, or of the answer's time
	open  chan struct{} // closed at the end of the transaction in which the key is completed; nil if there is none
}

// transaction is what is recorded and not committed.
type transaction struct {
	mu      sync.Mutex
	done    bool
	entries map[*entry]idempotency.Completion
}

type txKey struct{ *Memory }

// InTransaction runs fn in a transaction of both stores, and joins one that ctx already carries.
func (m *Memory) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, ok := ctx.Value(txKey{m}).(*transaction); ok {
		return m.Transactional.InTransaction(ctx, fn)
	}
	tx := &transaction{entries: make(map[*entry]idempotency.Completion)}
	committed := false
	defer func() { m.end(tx, committed) }()
	err := m.Transactional.InTransaction(context.WithValue(ctx, txKey{m}, tx), fn)
	committed = err == nil
	return err
}

func (m *Memory) end(tx *transaction, committed bool) {
	tx.mu.Lock()
	tx.done = true
	tx.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for e, c := range tx.entries {
		close(e.open)
		e.open = nil
		if committed {
			e.Answer = &c.Answer
			e.until = time.Now().Add(c.Keep)
		}
	}
}

// Reserve implements [idempotency.Store].
func (m *Memory) Reserve(ctx context.Context, r idempotency.Reservation) (idempotency.Record, error) {
	if err := ctx.Err(); err != nil {
		return idempotency.Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	e := m.keys[r.Key.Sum()]
	if e == nil || e.open == nil && !now.Before(e.until) {
		e = &entry{
			Record: idempotency.Record{Owner: r.Owner, Fingerprint: r.Fingerprint},
			until:  now.Add(r.Lease),
		}
		m.keys[r.Key.Sum()] = e
	}
	record := e.Record
	if e.Answer != nil {
		answer := cloneAnswer(*e.Answer)
		record.Answer = &answer
	}
	return record, nil
}

// Complete implements [idempotency.Store].
func (m *Memory) Complete(ctx context.Context, c idempotency.Completion) error {
	tx, ok := ctx.Value(txKey{m}).(*transaction)
	if !ok {
		return outbox.ErrNoTransaction
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.done {
		return outbox.ErrTransactionDone
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.keys[c.Key.Sum()]
	if e == nil || e.Owner != c.Owner || e.Answer != nil || e.open != nil {
		return idempotency.ErrLost
	}
	e.open = make(chan struct{})
	c.Answer = cloneAnswer(c.Answer)
	tx.entries[e] = c
	return nil
}

// Release implements [idempotency.Store].
func (m *Memory) Release(ctx context.Context, key idempotency.Key, owner uuid.UUID) error {
	for {
		open := m.tryRelease(key.Sum(), owner)
		if open == nil {
			return nil
		}
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryRelease returns what to wait for before another try.
func (m *Memory) tryRelease(sum [32]byte, owner uuid.UUID) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.keys[sum]
	switch {
	case e == nil || e.Owner != owner || e.Answer != nil:
		return nil
	case e.open != nil:
		return e.open
	}
	delete(m.keys, sum)
	return nil
}

func cloneAnswer(a idempotency.Answer) idempotency.Answer {
	a.Body = slices.Clone(a.Body)
	a.Header = maps.Clone(a.Header)
	for name, values := range a.Header {
		a.Header[name] = slices.Clone(values)
	}
	return a
}
