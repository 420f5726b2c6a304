//go:build unix

// Package fault breaks what a trial runs on, in an order that a seed decides, and heals it again.
package fault

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/postroom/postroom/chaos/internal/fleet"
	"github.com/postroom/postroom/chaos/internal/load"
	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
)

// Scene is what faults happen to.
type Scene struct {
	*stage.Stage
	Relays []*fleet.Relay
	Load   *load.Load
}

// Fault is one kind of it. Do begins it, waits, and heals it also when ctx ends first.
type Fault struct {
	Kind   string
	Weight int // how often it is chosen beside others of its track
	Do     func(ctx context.Context, s *Scene, r *rand.Rand) error
}

// Event is a fault that happened.
type Event struct {
	Kind  string    `json:"kind"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Error string    `json:"error,omitempty"` // in the nature of a fault, such as a stop that took too long
}

// errMissed: the moment for the fault did not come.
var errMissed = errors.New("the moment did not come")

// brokenScene is an error of the suite: what it was to heal is not healed.
type brokenScene struct{ error }

// Unwrap returns what went wrong.
func (b brokenScene) Unwrap() error { return b.error }

// track is faults that come one after another, beside those of other tracks.
type track struct {
	name     string
	min, max time.Duration // pause between two
	faults   []Fault
}

// storm is how long faults follow one another until a quiet time lets everything recover while messages flow.
const storm = 40 * time.Second

// Config says which faults happen. Seed and Tell are required.
type Config struct {
	Seed  uint64        // from which their sequence follows
	Only  []string      // kinds of faults. Defaults to all
	Quiet time.Duration // after a storm of 40 s
	Tell  func(format string, args ...any)
}

// Runner runs the tracks of one trial.
type Runner struct {
	Config
	scene *Scene
	begin time.Time

	mu     sync.Mutex
	events []Event
}

// NewRunner returns a Runner for a scene.
func NewRunner(s *Scene, c Config) *Runner { return &Runner{Config: c, scene: s} }

// Run lets faults happen until ctx ends, and returns once all are healed.
func (r *Runner) Run(ctx context.Context) error {
	if err := r.checkOnly(); err != nil {
		return err
	}
	r.begin = time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, t := range tracks(r.scene) {
		t.faults = slices.DeleteFunc(t.faults, func(f Fault) bool {
			return len(r.Only) > 0 && !slices.Contains(r.Only, f.Kind)
		})
		if len(t.faults) == 0 {
			continue
		}
		wg.Go(func() {
			if err := r.follow(ctx, t); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); errors.As(err, &brokenScene{}) {
		return err
	}
	return nil
}

// checkOnly refuses kinds that there are not: a trial without the faults that it was to have would prove nothing.
func (r *Runner) checkOnly() error {
	var kinds []string
	for _, t := range tracks(r.scene) {
		for _, f := range t.faults {
			kinds = append(kinds, f.Kind)
		}
	}
	for _, kind := range r.Only {
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("there is no fault %q here: choose among %q", kind, kinds)
		}
	}
	return nil
}

// Events are the faults so far.
func (r *Runner) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// Add adds a fault that came from elsewhere.
func (r *Runner) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// step is a fault to come, with what it draws its own choices from.
type step struct {
	Fault
	pause time.Duration // before it
	rand  *rand.Rand
}

// steps are the faults of a track without end, which follow from a seed.
func (t track) steps(seed uint64) iter.Seq[step] {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.name))
	choices := rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // repeatable
	return func(yield func(step) bool) {
		for {
			pause := t.min + time.Duration(choices.Int64N(int64(t.max-t.min)+1))
			own := rand.New(rand.NewPCG(choices.Uint64(), choices.Uint64())) //nolint:gosec // repeatable
			if !yield(step{choose(t.faults, choices), pause, own}) {
				return
			}
		}
	}
}

// follow lets the faults of a track happen.
func (r *Runner) follow(ctx context.Context, t track) error {
	for f := range t.steps(r.Seed) {
		if !wait.For(ctx, f.pause) || !r.awaitStorm(ctx) {
			break
		}
		e := Event{Kind: f.Kind, From: time.Now().UTC()}
		err := f.Do(ctx, r.scene, f.rand)
		e.To = time.Now().UTC()
		switch {
		case errors.Is(err, errMissed):
			continue
		case errors.As(err, &brokenScene{}):
			return fmt.Errorf("%s: %w", f.Kind, err)
		case err != nil:
			e.Error = err.Error()
		}
		r.Tell("%7.1f s  %-28s %5.1f s  %s", e.From.Sub(r.begin).Seconds(), e.Kind, e.To.Sub(e.From).Seconds(), e.Error)
		r.Add(e)
	}
	return nil
}

// awaitStorm waits out a quiet time.
func (r *Runner) awaitStorm(ctx context.Context) bool {
	into := time.Since(r.begin) % (storm + r.Quiet)
	return into < storm || wait.For(ctx, storm+r.Quiet-into)
}

func choose(faults []Fault, choices *rand.Rand) Fault {
	total := 0
	for _, f := range faults {
		total += f.Weight
	}
	n := choices.IntN(total)
	for _, f := range faults {
		if n -= f.Weight; n < 0 {
			return f
		}
	}
	return faults[0]
}

// tracks are what can happen to a scene.
func tracks(s *Scene) []track {
	all := []track{
		{"relays", 500 * time.Millisecond, 1500 * time.Millisecond, relayFaults()},
		{"database", 3 * time.Second, 8 * time.Second, databaseFaults()},
		{"network", 2 * time.Second, 5 * time.Second, networkFaults()},
	}
	if s.Broker == stage.Kafka {
		return append(all, track{"broker", 5 * time.Second, 12 * time.Second, kafkaFaults(s)})
	}
	return append(all, track{"broker", 5 * time.Second, 12 * time.Second, amqpFaults(s)})
}

// between returns a time of at least low and below high.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
