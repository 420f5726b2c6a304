package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

const (
	// slowness is of a median that makes a benchmark slower. What waits for memory takes up to 1.7 times the processor
	// time beside a busy database, where the reference, which only computes, takes as much as ever.
	slowness = 2.5
	growth   = 1.1 // of allocations
)

// finding is a benchmark that is slower, or was not found, and how.
type finding struct{ Name, Why string }

// compare writes a line for each benchmark and returns those that are slower than the baseline.
func compare(w io.Writer, baseline, now map[string]Measure) []finding {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tratio\tfrom – to\tbaseline\tfrom – to\tallocations\tbaseline\t")
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(baseline)) {
		was, is := baseline[name], now[name]
		why := judge(was, is)
		if why != "" {
			found = append(found, finding{name, why})
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f – %.3f\t%.3f\t%.3f – %.3f\t%.1f\t%.1f\t%s\n",
			name, is.Ratio, is.Low, is.High, was.Ratio, was.Low, was.High, is.Allocs, was.Allocs, why)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, known := baseline[name]; !known {
			found = append(found, finding{name, "has no baseline: measure it with -update"})
		}
	}
	_ = t.Flush() // to the terminal
	return found
}

// judge says what is wrong, or nothing.
func judge(was, is Measure) string {
	switch {
	case is.Ratio == 0:
		return "was not measured"
	case is.Ratio > slowness*was.Ratio && is.Low > was.High:
		return fmt.Sprintf("SLOWER: %.2f times the baseline", is.Ratio/was.Ratio)
	case is.Allocs > growth*was.Allocs+0.5:
		return fmt.Sprintf("MORE ALLOCATIONS: %g, not %g", is.Allocs, was.Allocs)
	}
	return ""
}
