//go:build unix

package fault

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/postroom/postroom/chaos/internal/fleet"
	"github.com/postroom/postroom/chaos/internal/wait"
)

// patience is how long a relay may take to pass a point.
const patience = 4 * time.Second

func relayFaults() []Fault {
	return []Fault{
		{"kill in claim", 2, killIn("claim")},
		{"kill after claim", 2, killAt("claimed")},
		{"kill in publish", 3, killIn("publish")},
		{"kill after confirm", 3, killAt("confirmed")},
		{"kill in settle", 3, killIn("settle")},
		{"kill after settle", 1, killAt("settled")},
		{"kill in renewal", 2, killIn("renew")},
		{"kill in takeover", 2, killInTakeover},
		{"kill", 2, kill},
		{"freeze relay", 2, freeze},
		{"restart relay", 3, restart},
		{"deploy", 1, deploy},
	}
}

func (s *Scene) relay(r *rand.Rand) *fleet.Relay { return s.Relays[r.IntN(len(s.Relays))] }

// killAt lets a relay die as soon as it has an answer.
func killAt(point string) func(context.Context, *Scene, *rand.Rand) error {
	return func(ctx context.Context, s *Scene, r *rand.Rand) error {
		if !s.relay(r).KillAt(ctx, point, 0, patience) {
			return errMissed
		}
		return nil
	}
}

// killIn lets a relay die soon after it has made a call.
func killIn(point string) func(context.Context, *Scene, *rand.Rand) error {
	return func(ctx context.Context, s *Scene, r *rand.Rand) error {
		if !s.relay(r).KillAt(ctx, point, between(r, time.Microsecond, 6*time.Millisecond), patience) {
			return errMissed
		}
		return nil
	}
}

// killInTakeover kills one relay, and another one as soon as it has taken lanes over.
func killInTakeover(ctx context.Context, s *Scene, r *rand.Rand) error {
	if len(s.Relays) < 2 {
		return errMissed
	}
	first := r.IntN(len(s.Relays))
	second := (first + 1 + r.IntN(len(s.Relays)-1)) % len(s.Relays)
	s.Relays[first].Kill()
	s.Relays[second].KillAt(ctx, "takeover", 0, patience)
	return nil
}

func kill(_ context.Context, s *Scene, r *rand.Rand) error {
	s.relay(r).Kill()
	return nil
}

// freeze stops a relay for longer than its lease, and then lets it go on.
func freeze(ctx context.Context, s *Scene, r *rand.Rand) error {
	s.relay(r).Freeze(ctx, between(r, 2500*time.Millisecond, 5*time.Second))
	return nil
}

func restart(_ context.Context, s *Scene, r *rand.Rand) error { return s.relay(r).Restart() }

// deploy restarts all relays, one after another.
func deploy(ctx context.Context, s *Scene, r *rand.Rand) error {
	for _, relay := range s.Relays {
		if err := relay.Restart(); err != nil {
			return err
		}
		if !wait.For(ctx, between(r, 100*time.Millisecond, 500*time.Millisecond)) {
			break
		}
	}
	return nil
}
