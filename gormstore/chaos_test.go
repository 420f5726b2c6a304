package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// TestChaos lets writers commit late and roll back while relays crash, stall, retry and release, and then holds the
// broker's record against the writers': everything that was committed, nothing else, and each key's first deliveries
// in order.
func TestChaos(t *testing.T) {
	for name, open := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFixture(t, open(t, gorm.Config{}), 8, gormstore.Config{StrictKeys: true}).chaos(t)
		})
	}
}

func (f *fixture) chaos(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
	defer stop()
	w := &world{
		fixture: f, committed: map[string][]uuid.UUID{}, accepted: map[uuid.UUID]bool{}, delivered: map[string][]uuid.UUID{},
		keys: chaosKeys(),
	}

	var writers, relays sync.WaitGroup
	for seed := range uint64(4) {
		writers.Go(func() { w.write(ctx, rand.New(rand.NewPCG(1, seed))) })
	}
	drained, done := context.WithTimeout(t.Context(), 60*time.Second)
	defer done()
	for seed := range uint64(3) {
		relays.Go(func() { w.relays(ctx, drained, rand.New(rand.NewPCG(2, seed))) })
	}
	writers.Wait()
	relays.Wait()
	w.check()
}

// world is what really happened, beside what the database believes.
type world struct {
	*fixture
	mu        sync.Mutex
	committed map[string][]uuid.UUID // in the order of the writers' locks
	accepted  map[uuid.UUID]bool
	delivered map[string][]uuid.UUID // first deliveries
	keys      map[string]*sync.Mutex
	crashes   int
	lost      int
	dumped    sync.Once
}

func chaosKeys() map[string]*sync.Mutex {
	keys := map[string]*sync.Mutex{}
	for i := range 12 {
		keys[fmt.Sprint("k", i)] = &sync.Mutex{}
	}
	return keys
}

// write commits messages of one key at a time, under the key's lock, until ctx ends; some late, some never.
func (w *world) write(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		key := fmt.Sprint("k", random.IntN(12))
		var messages []*outbox.Message
		for range 1 + random.IntN(4) {
			messages = append(messages, message(key))
		}
		lock := w.keys[key] // as the lock of a business row: until after the commit
		lock.Lock()
		err := w.store.Transaction(w.Context(), func(tx *gormstore.Tx) error {
			if err := tx.Enqueue(w.Context(), messages...); err != nil {
				return err
			}
			pause(ctx, time.Duration(random.ExpFloat64()*float64(10*time.Millisecond)))
			if random.IntN(5) == 0 {
				return errUndo
			}
			return nil
		})
		if err == nil {
			w.mu.Lock()
			w.committed[key] = append(w.committed[key], ids(messages...)...)
			w.mu.Unlock()
		} else if !errors.Is(err, errUndo) {
			w.Error(err)
		}
		lock.Unlock()
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// relays runs one session after another. They misbehave until ctx ends, and then deliver what is left.
func (w *world) relays(ctx, drained context.Context, random *rand.Rand) {
	for drained.Err() == nil && !w.finished(ctx) {
		w.run(ctx, drained, &relay{fixture: w.fixture, id: uuid.New()}, random)
	}
	w.late(drained)
}

func (w *world) finished(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	var n int64
	if err := w.db.Table("outbox_messages").Count(&n).Error; err != nil {
		w.Error(err)
	}
	return n == 0
}

// run is one session, until it crashes, ends or has nothing to do any more.
func (w *world) run(ctx, drained context.Context, r *relay, random *rand.Rand) {
	wantSuspects := false
	for drained.Err() == nil && !w.finished(ctx) {
		lease, since := 300*time.Millisecond, time.Now()
		if ctx.Err() != nil {
			lease = 20 * time.Second // what is left is delivered by any machine, however slow
		}
		if _, err := r.tryAcquire(lease); err != nil {
			if !errors.Is(err, outbox.ErrSessionEnded) {
				w.Error(err)
			}
			return
		}
		for range 3 {
			request := r.request()
			request.Limit, request.Suspect, request.PerKey = 1+random.IntN(30), wantSuspects, random.IntN(3)*2
			c, err := w.store.Claim(w.Context(), request)
			if err != nil {
				w.Error(err)
				return
			}
			wantSuspects = c.Suspects && !wantSuspects
			if len(c.Messages) == 0 {
				pause(ctx, 2*time.Millisecond)
				continue
			}
			if time.Since(since) > lease {
				w.note(&w.crashes)
				return // too old to publish: whoever takes over recovers it
			}
			if !w.publish(ctx, c, random) {
				return
			}
		}
	}
	w.late(drained)
	if err := w.store.ReleaseLanes(w.Context(), r.id); err != nil {
		w.Error(err)
	}
}

// publish hands a claim over, message by message; a key stops at its first failure. It reports whether the session
// survived.
func (w *world) publish(ctx context.Context, c outbox.Claim, random *rand.Rand) bool {
	wild := ctx.Err() == nil
	stopped := map[string]bool{}
	if wild && random.IntN(25) == 0 {
		pause(ctx, 400*time.Millisecond) // past its lease
	}
	list := outcomes(c, func(m *outbox.Claimed) outbox.Outcome {
		switch {
		case stopped[m.Key]:
			return outbox.Outcome{}
		case wild && random.IntN(10) == 0:
			stopped[m.Key] = true
			return outbox.Outcome{
				Verdict: outbox.Retry, RetryIn: time.Duration(random.IntN(50)) * time.Millisecond,
				Class: outbox.ClassRefused, Err: errUndo,
			}
		case wild && random.IntN(20) == 0:
			stopped[m.Key] = true
			return outbox.Outcome{}
		}
		w.accept(m)
		return outbox.Outcome{Verdict: outbox.Delivered}
	})
	if wild && random.IntN(15) == 0 {
		w.note(&w.crashes)
		return false
	}
	_, err := w.store.Settle(w.Context(), c, list)
	if errors.Is(err, outbox.ErrClaimLost) {
		w.note(&w.lost)
		return false
	}
	if err != nil {
		w.Error(err)
	}
	return err == nil
}

// late fails the test when the time is up, with what stands in the way, before anybody lets go of it.
func (w *world) late(drained context.Context) {
	if drained.Err() == nil {
		return
	}
	w.dumped.Do(func() {
		w.Error("messages were left when the time was up:" + w.dump("sessions", "lanes", "claims", "blocks", "messages"))
	})
}

func (w *world) note(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

// accept is the broker.
func (w *world) accept(m *outbox.Claimed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.accepted[m.ID] {
		w.accepted[m.ID] = true
		w.delivered[m.Key] = append(w.delivered[m.Key], m.ID)
	}
}

func (w *world) check() {
	total := 0
	for key, want := range w.committed {
		got := w.delivered[key]
		total += len(want)
		if len(got) != len(want) {
			w.Errorf("key %s: delivered %d messages of %d", key, len(got), len(want))
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				w.Errorf("key %s: message %d came out of order", key, i)
				break
			}
		}
	}
	for _, table := range []string{"outbox_messages", "outbox_claims", "outbox_blocks"} {
		if n := w.count(table); n != 0 {
			w.Errorf("%d rows are left in %s", n, table)
		}
	}
	w.Logf("%d messages, %d crashes, %d lost claims", total, w.crashes, w.lost)
	if total == 0 || w.crashes == 0 {
		w.Error("nothing happened")
	}
}

// dump is what tables hold: of each up to fifty rows, without payloads and headers.
func (w *world) dump(tables ...string) string {
	var text strings.Builder
	for _, table := range tables {
		var rows []map[string]any
		if err := w.db.Table("outbox_" + table).Limit(50).Find(&rows).Error; err != nil {
			fmt.Fprintf(&text, "\n%s: %v", table, err)
		}
		for _, row := range rows {
			fmt.Fprintf(&text, "\n%s:", table)
			for _, column := range slices.Sorted(maps.Keys(row)) {
				if row[column] != nil && column != "payload" && column != "headers" {
					fmt.Fprintf(&text, " %s=%s", column, cell(row[column]))
				}
			}
		}
	}
	for _, line := range w.store.LaneStates() {
		fmt.Fprint(&text, "\nremembered: ", line)
	}
	return text.String()
}

// cell is a value of a row: text as it is, an id in hexadecimal digits.
func cell(value any) string {
	if b, ok := value.([]byte); ok {
		if !utf8.Valid(b) {
			return fmt.Sprintf("%x", b)
		}
		value = string(b)
	}
	return fmt.Sprint(value)
}
