//go:build unix

package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
)

func networkFaults() []Fault {
	return []Fault{
		{"cut the network", 3, cut},
		{"half-open connections", 3, halfOpen},
		{"latency", 2, poison("latency", func(r *rand.Rand) map[string]int {
			return map[string]int{"latency": 50 + r.IntN(1200), "jitter": 50}
		})},
		{"reset connections", 2, poison("reset_peer", func(r *rand.Rand) map[string]int {
			return map[string]int{"timeout": r.IntN(300)}
		})},
		{"thin network", 1, poison("bandwidth", func(r *rand.Rand) map[string]int {
			return map[string]int{"rate": 5 + r.IntN(40)} // KB/s
		})},
	}
}

// onLink is the network to the database or to one node of the broker.
func (s *Scene) onLink(r *rand.Rand) *stage.Link {
	if r.IntN(2) == 0 {
		return s.Database
	}
	return s.Links[r.IntN(len(s.Links))]
}

// cut ends all connections and refuses others for a time.
func cut(ctx context.Context, s *Scene, r *rand.Rand) error {
	l := s.onLink(r)
	l.Cut()
	wait.For(ctx, between(r, 100*time.Millisecond, 4*time.Second))
	if err := l.Mend(); err != nil {
		return brokenScene{err}
	}
	return nil
}

// halfOpen lets nothing through in one direction, or in both, and ends nothing.
func halfOpen(ctx context.Context, s *Scene, r *rand.Rand) error {
	l := s.onLink(r)
	directions := [][]string{{stage.In}, {stage.Out}, {stage.In, stage.Out}}[r.IntN(3)]
	never := map[string]int{"timeout": 0}
	return poisonFor(ctx, between(r, time.Second, 7*time.Second), l, "timeout", never, directions...)
}

func poison(kind string, with func(r *rand.Rand) map[string]int) func(context.Context, *Scene, *rand.Rand) error {
	return func(ctx context.Context, s *Scene, r *rand.Rand) error {
		l := s.onLink(r)
		direction := []string{stage.In, stage.Out}[r.IntN(2)]
		return poisonFor(ctx, between(r, 500*time.Millisecond, 4*time.Second), l, kind, with(r), direction)
	}
}

// poisonFor adds a toxic to each direction, waits for d, and removes them.
func poisonFor(
	ctx context.Context, d time.Duration, l *stage.Link, kind string, attributes map[string]int, directions ...string,
) error {
	var heals []func() error
	var errs []error
	for _, direction := range directions {
		heal, err := l.Poison(kind, direction, attributes)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		heals = append(heals, heal)
	}
	wait.For(ctx, d)
	for _, heal := range heals {
		errs = append(errs, heal())
	}
	if err := errors.Join(errs...); err != nil {
		return brokenScene{err}
	}
	return nil
}
