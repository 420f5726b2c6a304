package outbox_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

var (
	seedFlag      = flag.Uint64("seed", 0, "run the simulation of this seed only")
	schedulesFlag = flag.Int("schedules", 10_000, "how many schedules to simulate")
)

// TestSimulation runs relays, writers and a broker in virtual time under faults that a seed decides, and holds what
// the broker saw against what was committed.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *seedFlag != 0 {
		simulate(t, *seedFlag)
		return
	}
	const groups = 8
	for g := range groups {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			t.Parallel()
			for n := g; n < *schedulesFlag && !t.Failed(); n += groups {
				simulate(t, uint64(n+1))
			}
		})
	}
}

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed)
		w.run(t)
		for _, err := range w.check() {
			t.Errorf("%v\n\tgo test ./outbox -run TestSimulation -seed %d", err, seed)
		}
	})
}

const lease = 2 * time.Second

var errFault = errors.New("fault")

// world is one schedule.
type world struct {
	store   *memstore.Store
	ordered bool // the publishers keep the order of a key themselves
	faulty  bool

	mu     sync.Mutex
	random *rand.Rand
	healed bool
	log    []uuid.UUID            // what the broker accepted, in its order
	keys   map[string][]uuid.UUID // committed, in the order of the key's lock
	rolled map[uuid.UUID]bool
}

func newWorld(seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 1))
	return &world{
		store: memstore.New(memstore.Config{Lanes: 1 + random.IntN(8)}), random: random,
		ordered: random.IntN(2) == 0, faulty: random.IntN(8) > 0,
		keys: make(map[string][]uuid.UUID), rolled: make(map[uuid.UUID]bool),
	}
}

// chance is true once in n, while the world is faulty.
func (w *world) chance(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faulty && !w.healed && w.random.IntN(n) == 0
}

func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d)))
}

func (w *world) run(t *testing.T) {
	var writers, relays sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for k := range 4 {
		writers.Go(func() { w.write(ctx, fmt.Sprint("key", k)) })
	}
	for n := range 1 + int(w.upTo(3)) {
		relays.Go(func() { w.relay(ctx, t, n) })
	}
	writers.Wait()
	time.Sleep(w.upTo(10 * time.Second))
	w.mu.Lock()
	w.healed = true
	w.mu.Unlock()
	cancel()
	relays.Wait()
	stop := start(t, w.store, &wire{world: w}, w.config())
	for range 120 { // seconds: everything that waits is due by then
		if w.store.Pending() == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	if err := stop(); err != nil {
		t.Errorf("the last relay: %v", err)
	}
	time.Sleep(time.Minute) // calls that were left behind end, and late copies arrive
}

func (w *world) config() outbox.RelayConfig {
	return outbox.RelayConfig{
		Lease: lease, Workers: 2, Batch: 8, Poll: 200 * time.Millisecond, StopTimeout: 500 * time.Millisecond,
		Policy: outbox.Policy{MaxBackoff: time.Second, MaxAttempts: 1000}, MaxCrashes: 100, Logger: quiet,
	}
}

// write commits messages of one key one after another, each under the key's lock; some roll back, some take long.
func (w *world) write(ctx context.Context, key string) {
	for n := range 12 {
		m := message(key, fmt.Sprint(n))
		err := w.store.InTransaction(ctx, func(ctx context.Context) error {
			if err := w.store.Enqueue(ctx, m); err != nil {
				return err
			}
			time.Sleep(w.upTo(300 * time.Millisecond))
			if w.chance(6) {
				return errFault
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.keys[key] = append(w.keys[key], m.ID)
			return nil
		})
		if err != nil {
			w.mu.Lock()
			w.rolled[m.ID] = true
			w.mu.Unlock()
		}
		time.Sleep(w.upTo(500 * time.Millisecond))
	}
}

// relay runs one relay after another: some stop, some die, some freeze.
func (w *world) relay(ctx context.Context, t *testing.T, n int) {
	for ctx.Err() == nil {
		l := &link{world: w}
		config := w.config()
		config.ID = fmt.Sprint("relay", n)
		r, err := outbox.NewRelay(&faultyStore{Store: w.store, link: l}, &wire{world: w, link: l}, config)
		if err != nil {
			t.Error(err)
			return
		}
		life, cancel := context.WithTimeout(ctx, time.Second+w.upTo(8*time.Second))
		if w.chance(2) {
			time.AfterFunc(w.upTo(4*time.Second), l.cut) // dies: nothing that it does has an effect any more
		}
		if err := r.Run(life); err != nil && !w.faulty {
			t.Errorf("relay %d: %v", n, err)
		}
		cancel()
	}
}

// link is what connects a relay with the world.
type link struct {
	*world
	mu   sync.Mutex
	dead bool
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
}

func (l *link) isDead() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// travel is the way of a call to the store: it may be slow, or freeze the relay for longer than its lease, or fail
// before anything happened.
func (l *link) travel(ctx context.Context) error {
	d := l.upTo(3 * time.Millisecond)
	if l.chance(40) {
		d = l.upTo(2 * lease)
	}
	time.Sleep(d) // a statement under way does not stop with its caller's context
	if l.isDead() || l.chance(25) {
		return errFault
	}
	return nil
}

// back is the way of the answer, which may be lost or come too late.
func (l *link) back(ctx context.Context) error {
	if l.isDead() || l.chance(25) {
		return errFault
	}
	return ctx.Err()
}

type faultyStore struct {
	*memstore.Store
	link *link
}

// through makes a call of the store over l.
func through[T any](ctx context.Context, l *link, call func() (T, error)) (T, error) {
	var none T
	if err := l.travel(ctx); err != nil {
		return none, err
	}
	v, err := call()
	if err != nil {
		return v, err
	}
	if err := l.back(ctx); err != nil {
		return none, err
	}
	return v, nil
}

func (s *faultyStore) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	return through(ctx, s.link, func() (outbox.Lanes, error) { return s.Store.AcquireLanes(ctx, r) })
}

func (s *faultyStore) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	return through(ctx, s.link, func() (outbox.Claim, error) { return s.Store.Claim(ctx, r) })
}

func (s *faultyStore) Void(ctx context.Context, r outbox.ClaimRequest) error {
	_, err := through(ctx, s.link, func() (int, error) { return 0, s.Store.Void(ctx, r) })
	return err
}

func (s *faultyStore) RenewLanes(ctx context.Context, id uuid.UUID, d time.Duration) error {
	_, err := through(ctx, s.link, func() (int, error) { return 0, s.Store.RenewLanes(ctx, id, d) })
	return err
}

func (s *faultyStore) ReleaseLanes(ctx context.Context, id uuid.UUID) error {
	_, err := through(ctx, s.link, func() (int, error) { return 0, s.Store.ReleaseLanes(ctx, id) })
	return err
}

func (s *faultyStore) Settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	return through(ctx, s.link, func() (int, error) { return s.Store.Settle(ctx, c, outcomes) })
}

// wire is the way of a relay to the broker.
type wire struct {
	*world
	link *link
}

func (p *wire) KeyOrdered() bool { return p.ordered }

func (p *wire) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	failed := make(map[string]bool)
	down := p.chance(12)
	for i, m := range messages {
		time.Sleep(p.upTo(2 * time.Millisecond))
		if p.chance(200) {
			time.Sleep(p.upTo(2 * lease))
		}
		if ctx.Err() != nil || p.ordered && failed[m.Key] {
			continue
		}
		results[i] = p.send(m, down)
		failed[m.Key] = failed[m.Key] || !results[i].Accepted()
	}
	return results
}

func (p *wire) send(m *outbox.Message, down bool) outbox.Result {
	switch {
	case down || p.link.isDead():
		return outbox.Failed(outbox.Unavailable(errFault))
	case p.chance(20):
		return outbox.Failed(errFault)
	case p.chance(40): // the confirm is lost
		p.accept(m)
		return outbox.Failed(outbox.Unknown(errFault))
	case p.chance(45): // and here the message, or it comes late
		time.AfterFunc(p.upTo(time.Minute), func() { p.accept(m) })
		return outbox.Failed(outbox.Unknown(errFault))
	}
	p.accept(m)
	return outbox.Accepted
}

func (w *world) accept(m *outbox.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, m.ID)
}

// check returns every broken promise.
func (w *world) check() (errs []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := make(map[uuid.UUID]int)
	for i, id := range w.log {
		if _, ok := first[id]; ok {
			if !w.faulty {
				errs = append(errs, fmt.Errorf("%s was delivered twice without a fault", id))
			}
			continue
		}
		first[id] = i
		if w.rolled[id] {
			errs = append(errs, fmt.Errorf("%s was rolled back and published", id))
		}
	}
	for key, ids := range w.keys {
		last := -1
		for n, id := range ids {
			at, ok := first[id]
			switch {
			case !ok:
				errs = append(errs, fmt.Errorf("%s, message %d of %s, was lost", id, n, key))
			case at < last:
				errs = append(errs, fmt.Errorf("%s, message %d of %s, came after a later one", id, n, key))
			}
			last = max(last, at)
		}
	}
	if n := w.store.Pending(); n > 0 {
		errs = append(errs, fmt.Errorf("%d messages are left", n))
	}
	return errs
}
