package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/stats"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		values []float64
		want   stats.Summary
		spread float64
	}{
		{"takes_the_middle_one_of_an_odd_number", []float64{9, 1, 5}, stats.Summary{Repeats: 3, Median: 5, Min: 1, Max: 9}, 1.6},
		{"takes_the_mean_of_the_middle_two_of_an_even_number", []float64{4, 1, 100, 2}, stats.Summary{Repeats: 4, Median: 3, Min: 1, Max: 100}, 33},
		{"is_not_moved_by_one_wild_value", []float64{10, 10, 10, 10, 1e9}, stats.Summary{Repeats: 5, Median: 10, Min: 10, Max: 1e9}, 1e8 - 1},
		{"takes_the_only_one_there_is", []float64{7}, stats.Summary{Repeats: 1, Median: 7, Min: 7, Max: 7}, 0},
		{"is_zero_without_any", nil, stats.Summary{}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := stats.Of(test.values)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if math.Abs(got.Spread()-test.spread) > 1e-9 {
				t.Errorf("spread = %v, want %v", got.Spread(), test.spread)
			}
		})
	}

	t.Run("leaves_the_values_as_they_are", func(t *testing.T) {
		t.Parallel()
		values := []float64{3, 1, 2}
		stats.Of(values)
		if diff := cmp.Diff([]float64{3, 1, 2}, values); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	})
}
