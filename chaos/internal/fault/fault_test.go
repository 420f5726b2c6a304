//go:build unix

package fault

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/chaos/internal/stage"
)

func TestRunner(t *testing.T) {
	t.Parallel()
	t.Run("refuses_a_kind_of_fault_that_there_is_not", func(t *testing.T) {
		t.Parallel()
		r := NewRunner(&Scene{Stage: &stage.Stage{Broker: stage.AMQP}}, Config{Only: []string{"kill", "kil"}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err == nil || !strings.Contains(err.Error(), `no fault "kil"`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	type seen struct {
		kind  string
		pause time.Duration
		own   uint64
	}
	sequence := func(seed uint64) (all []seen) {
		for _, track := range tracks(&Scene{Stage: &stage.Stage{Broker: stage.AMQP}}) {
			n := 0
			for s := range track.steps(seed) {
				if n++; n > 100 {
					break
				}
				all = append(all, seen{s.Kind, s.pause, s.rand.Uint64()})
			}
		}
		return all
	}

	t.Run("follow_from_the_seed", func(t *testing.T) {
		t.Parallel()
		if !slices.Equal(sequence(7), sequence(7)) {
			t.Error("a seed gave two sequences")
		}
		if slices.Equal(sequence(7), sequence(8)) {
			t.Error("two seeds gave one sequence")
		}
	})

	t.Run("come_to_every_kind", func(t *testing.T) {
		t.Parallel()
		for _, broker := range []string{stage.Kafka, stage.AMQP} {
			for _, track := range tracks(&Scene{Stage: &stage.Stage{Broker: broker}}) {
				choices, kinds := rand.New(rand.NewPCG(1, 1)), map[string]int{}
				for range 1000 {
					kinds[choose(track.faults, choices).Kind]++
				}
				if len(kinds) != len(track.faults) {
					t.Errorf("%s: of %d kinds only %v came", track.name, len(track.faults), kinds)
				}
			}
		}
	})
}
