package main

import (
	"io"
	"testing"
)

func TestAllocations(t *testing.T) {
	t.Parallel()
	const out = "goos: linux\n" +
		"BenchmarkRelay/key_ordered=true-2 \t 20000\t 1500 ns/op\t 7.5 other\t 320 B/op\t 3 allocs/op\n" +
		"BenchmarkEncode \t 100\t 2.5 ns/op\t 0 B/op\t 1016 allocs/op\nBenchmarkShort-2 \t 1\t 2 ns/op\nPASS\n"
	for _, test := range []struct {
		name      string
		benchmark string
		want      float64
		found     bool
	}{
		{"are_read_by_name_whatever_the_processors", "BenchmarkRelay/key_ordered=true", 3, true},
		{"are_read_without_processors", "BenchmarkEncode", 1016, true},
		{"of_another_benchmark_are_not_taken", "BenchmarkRel", 0, false},
		{"may_be_missing", "BenchmarkShort", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, found := allocations(out, test.benchmark); got != test.want || found != test.found {
				t.Errorf("allocations = %v, %v; want %v, %v", got, found, test.want, test.found)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	was := Measure{Ratio: 2, Low: 1.8, High: 2.4, Allocs: 3}
	for _, test := range []struct {
		name string
		is   Measure
		want int
	}{
		{"passes_the_same", was, 0},
		{"passes_what_a_busy_neighbour_makes_slower", Measure{Ratio: 4.9, Low: 4.6, High: 5.2, Allocs: 3}, 0},
		{"passes_a_slow_median_whose_best_round_was_as_before", Measure{Ratio: 5.5, Low: 2.3, High: 9, Allocs: 3}, 0},
		{"fails_what_is_slower_in_every_round", Measure{Ratio: 5.1, Low: 4.5, High: 6, Allocs: 3}, 1},
		{"fails_another_allocation", Measure{Ratio: 2, Low: 1.8, High: 2.4, Allocs: 4}, 1},
		{"fails_what_was_not_measured", Measure{}, 1},
		{"passes_what_is_faster", Measure{Ratio: 1, Low: 0.9, High: 1.1, Allocs: 1}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := compare(io.Discard, map[string]Measure{"B": was}, map[string]Measure{"B": test.is})
			if len(got) != test.want {
				t.Errorf("found %v, want %d", got, test.want)
			}
		})
	}

	t.Run("fails_a_benchmark_without_a_baseline", func(t *testing.T) {
		t.Parallel()
		if got := compare(io.Discard, nil, map[string]Measure{"B": was}); len(got) != 1 {
			t.Errorf("found %v, want it", got)
		}
	})
}
