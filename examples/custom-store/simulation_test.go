package customstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	customstore "github.com/postroom/postroom/examples/custom-store"
	"github.com/postroom/postroom/outbox"
)

// slow is a table that takes its time before each row, and now and then longer than a lease.
type slow struct {
	customstore.Table
	*chance
}

// chance decides by a seed.
type chance struct {
	mu     sync.Mutex
	random *rand.Rand
	calm   bool
}

func (c *chance) pause() {
	c.mu.Lock()
	top := time.Millisecond
	switch n := c.random.IntN(600); {
	case c.calm:
	case n == 0:
		top = 4 * time.Second
	case n < 12:
		top = 300 * time.Millisecond
	}
	d := time.Duration(c.random.Int64N(int64(top)))
	c.mu.Unlock()
	time.Sleep(d)
}

func (c *chance) once(in int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.calm && c.random.IntN(in) == 0
}

func (s slow) Get(key string) customstore.Row {
	s.pause()
	return s.Table.Get(key)
}

func (s slow) CompareAndSwap(key string, version int64, value []byte) bool {
	s.pause()
	return s.Table.CompareAndSwap(key, version, value)
}

func (s slow) Scan(prefix, from string, limit int) (rows []customstore.Row) {
	for len(rows) < limit {
		s.pause()
		next := s.Table.Scan(prefix, from, 1)
		if len(next) == 0 {
			break
		}
		rows, from = append(rows, next...), next[0].Key
	}
	return rows
}

// counting is a store that sees the attempts of each message.
type counting struct {
	*customstore.Store
	*world
}

func (s counting) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	c, err := s.Store.Claim(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range c.Messages {
		if s.attempts[m.ID] > m.Attempts {
			s.wrong = append(s.wrong, fmt.Sprintf("%s had %d attempts and then %d", m.ID, s.attempts[m.ID], m.Attempts))
		}
		s.attempts[m.ID] = m.Attempts
	}
	return c, err
}

// world is one schedule.
type world struct {
	*record
	chance   *chance
	table    customstore.Table
	attempts map[uuid.UUID]int
	wrong    []string
}

func (w *world) send(ctx context.Context, m *outbox.Message) error {
	w.chance.pause()
	if w.chance.once(3) {
		return errors.New("refused")
	}
	return w.record.send(ctx, m)
}

const (
	simKeys = 4
	simEach = 12
)

func simulate(t *testing.T, seed uint64) {
	c := &chance{random: rand.New(rand.NewPCG(seed, 2))}
	w := &world{
		record: &record{seen: make(map[string]bool), byKey: make(map[string][]int)}, chance: c,
		table: slow{customstore.NewMemory(), c}, attempts: make(map[uuid.UUID]int),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers, relays sync.WaitGroup
	for n := range simKeys {
		writers.Go(func() { write(ctx, t, w.table, fmt.Sprint("key", n), simEach, w.chance.pause) })
	}
	for range 2 {
		relays.Go(func() { w.relay(ctx, t) })
	}
	writers.Wait()
	time.Sleep(10 * time.Second)
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	time.Sleep(20 * time.Second)
	cancel()
	relays.Wait()
	w.check(t, seed)
}

// relay runs one relay after another. Those that stop too slowly leave their lanes to lapse.
func (w *world) relay(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		store := counting{customstore.New(w.table, lanes), w}
		relay, err := outbox.NewRelay(store, outbox.PublisherFunc(w.send), outbox.RelayConfig{
			Workers: 2, Batch: 6, Lease: 2 * time.Second, Poll: 50 * time.Millisecond, StopTimeout: 500 * time.Millisecond,
			Policy: outbox.Policy{MaxAttempts: 1000, MinBackoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond},
			Logger: quiet, MaxCrashes: 100,
		})
		if err != nil {
			t.Error(err)
			return
		}
		life, cancel := context.WithTimeout(ctx, 3*time.Second)
		_ = relay.Run(life) // a stop that took too long is part of the game
		cancel()
	}
}

func (w *world) check(t *testing.T, seed uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range simKeys {
		if got := w.byKey[fmt.Sprint("key", n)]; len(got) != simEach || !slices.IsSorted(got) {
			w.wrong = append(w.wrong, fmt.Sprintf("key %d: got %v", n, got))
		}
	}
	for _, what := range w.wrong {
		t.Errorf("seed %d: %s", seed, what)
	}
}

// Slow and frozen relays overtake one another between any two rows.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		if t.Failed() {
			return
		}
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
	}
}
