package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

const (
	mainKeys    = 500
	fragileKeys = 60
)

// keys are those of healthy messages. A key belongs to one topic, so that its order can be seen.
func keys() []string {
	var keys []string
	for i := range mainKeys {
		keys = append(keys, fmt.Sprintf("m-%03d", i))
	}
	for i := range fragileKeys {
		keys = append(keys, fmt.Sprintf("f-%03d", i))
	}
	return keys
}

func topicOf(key string) string {
	if key[0] == 'f' {
		return wire.Fragile
	}
	return wire.Main
}

// writer makes one transaction after another.
type writer struct {
	*Load
	number int
	rand   *rand.Rand
	poison time.Time // when the next one is due
}

func newWriter(l *Load, number int) *writer {
	return &writer{
		Load: l, number: number, rand: rand.New(rand.NewPCG(l.config.Seed, uint64(number))), //nolint:gosec // repeatable
		poison: time.Now().Add(l.config.Poison),
	}
}

var errRollback = errors.New("rolled back on purpose")

// run keeps to the writer's share of the rate. A transaction that failed is journalled and not tried again.
func (w *writer) run(ctx context.Context) error {
	next := time.Now()
	for ctx.Err() == nil {
		keys := w.choose()
		if err := w.write(ctx, keys); err != nil {
			return err
		}
		if w.config.Poison > 0 && w.number == 0 && time.Now().After(w.poison) {
			w.poison = time.Now().Add(w.config.Poison)
			if err := w.writePoison(ctx); err != nil {
				return err
			}
		}
		next = next.Add(time.Duration(len(keys)*w.config.Writers) * time.Second / time.Duration(w.config.Rate))
		if behind := time.Until(next); behind < -time.Second {
			next = time.Now().Add(-time.Second) // what an outage kept from being written is not made up for
		}
		for wait.For(ctx, max(time.Until(next), time.Millisecond)) && w.backlog.Load() > maxBacklog {
			next = time.Now().Add(100 * time.Millisecond)
		}
	}
	return nil
}

// choose returns the key of each message of the next transaction: mostly a few, sometimes hundreds.
func (w *writer) choose() []string {
	n := 1 + w.rand.IntN(12)
	if w.rand.IntN(20) == 0 {
		n = 100 + w.rand.IntN(400)
	}
	pool := make([]string, min(n, 1+w.rand.IntN(16)))
	for i := range pool {
		if w.rand.IntN(8) == 0 {
			pool[i] = fmt.Sprintf("f-%03d", w.rand.IntN(fragileKeys))
		} else {
			pool[i] = fmt.Sprintf("m-%03d", w.rand.IntN(mainKeys))
		}
	}
	keys := make([]string, n)
	for i := range keys {
		keys[i] = pool[w.rand.IntN(len(pool))]
	}
	return keys
}

// patience bounds a transaction, so that a dead connection ends it.
const patience = 10 * time.Second

// write is one transaction. Some roll back, and some have a part that rolls back by itself.
func (w *writer) write(ctx context.Context, keys []string) error {
	t := transaction{id: uuid.New()}
	rollback, savepoint := w.rand.IntN(12) == 0, w.rand.IntN(12) == 0
	return w.transact(ctx, &t, func(ctx context.Context, tx *gormstore.Tx) error {
		orders, err := w.lock(tx, keys)
		if err != nil {
			return err
		}
		var messages []*outbox.Message
		for _, key := range keys {
			messages = append(messages, w.message(&t, topicOf(key), key, orders.next(key)))
		}
		if err := tx.Enqueue(ctx, messages...); err != nil {
			return err
		}
		if savepoint {
			if err := w.enqueueGhost(ctx, tx, &t, keys[0]); err != nil {
				return err
			}
		}
		if rollback {
			return errRollback
		}
		return nil
	})
}

// transact runs fn in a transaction and journals the outcome, or keeps it in doubt when the commit had no answer.
func (w *writer) transact(
	ctx context.Context, t *transaction, fn func(ctx context.Context, tx *gormstore.Tx) error,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	ready := false
	err := w.store.Transaction(ctx, func(tx *gormstore.Tx) error {
		if err := tx.Exec("INSERT INTO chaos_commits (id) VALUES (?)", t.id).Error; err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		ready = true
		return nil
	})
	switch {
	case err == nil:
		return w.note(verify.Committed, *t)
	case ready:
		w.doubt(*t)
		return nil
	default:
		return w.note(verify.Aborted, *t)
	}
}

// orders are the next numbers of keys in a transaction.
type orders map[string]int64

func (o orders) next(key string) int64 {
	o[key]++
	return o[key]
}

// lock takes the rows of keys, always in the same sequence, and numbers for all messages under them. Whoever holds the
// row commits before the next one gets a number.
func (w *writer) lock(tx *gormstore.Tx, keys []string) (orders, error) {
	counts := map[string]int{}
	for _, key := range keys {
		counts[key]++
	}
	taken := orders{}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		var last int64
		err := tx.Raw("UPDATE chaos_keys SET n = n + ? WHERE key = ? RETURNING n", counts[key], key).Scan(&last).Error
		if err != nil {
			return nil, err
		}
		taken[key] = last - int64(counts[key])
	}
	return taken, nil
}

// enqueueGhost enqueues a message in a savepoint that is rolled back.
func (w *writer) enqueueGhost(ctx context.Context, tx *gormstore.Tx, t *transaction, key string) error {
	err := tx.Transaction(func(sub *gormstore.Tx) error {
		m := w.message(t, topicOf(key), key, 0)
		t.records[len(t.records)-1].Kind = verify.Aborted
		if err := sub.Enqueue(ctx, m); err != nil {
			return err
		}
		return errRollback
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	return err
}

// message makes a message and its record in t. One in fifty is larger than the limit that a fault puts on its topic.
func (w *writer) message(t *transaction, topic, key string, order int64) *outbox.Message {
	id := uuid.Must(uuid.NewV7())
	t.records = append(t.records, verify.Record{ID: id, Topic: topic, Key: key, Order: order})
	size := 100 + w.rand.IntN(200)
	if w.rand.IntN(50) == 0 {
		size = wire.Limit + w.rand.IntN(wire.Limit)
	}
	return &outbox.Message{ID: id, Topic: topic, Key: key, Type: wire.Plain, Payload: w.noise(size)}
}

// noise is text that does not compress.
func (w *writer) noise(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(' ' + w.rand.IntN('~'-' '))
	}
	return b
}
