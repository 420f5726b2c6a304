package results

import (
	"math"
	"testing"
)

func TestTicks(t *testing.T) {
	t.Parallel()

	t.Run("give_the_share_that_was_idle_or_waited_for_a_disk", func(t *testing.T) {
		t.Parallel()
		before, ok1 := parseTicks("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3 4 5\n")
		after, ok2 := parseTicks("cpu  110 0 110 760 120 0 0 0 0 0\ncpu0 1 2 3 4 5\n")
		if got := after.idleSince(before); !ok1 || !ok2 || math.Abs(got-0.8) > 1e-9 {
			t.Errorf("idle = %v, want 0.8", got)
		}
	})

	t.Run("are_busy_when_no_time_has_passed", func(t *testing.T) {
		t.Parallel()
		if got := (ticks{idle: 5, all: 9}).idleSince(ticks{idle: 5, all: 9}); got != 0 {
			t.Errorf("idle = %v, want 0", got)
		}
	})

	t.Run("are_unknown_in_another_format", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"", "cpu0 1 2 3 4 5 6\n", "cpu 1 2\n", "cpu 1 2 x 4 5 6\n"} {
			if _, ok := parseTicks(text); ok {
				t.Errorf("parsed %q", text)
			}
		}
	})
}
