package report

import (
	"cmp"
	"slices"

	"github.com/postroom/postroom/bench/internal/results"
)

// spread returns the lowest and the highest value that the comparison had in one round of measurements, in which both
// sides came soon after one another. It is not ok for fewer than two rounds.
func (c Comparison) spread(samples []results.Sample) (low, high float64, ok bool) {
	var values []float64
	for repeat := 1; repeat <= rounds(samples); repeat++ {
		of := slices.DeleteFunc(slices.Clone(samples), func(s results.Sample) bool { return s.Repeat != repeat })
		if v, ok := c.value(summariesOf(of)); ok {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return 0, 0, false
	}
	return slices.Min(values), slices.Max(values), true
}

func rounds(samples []results.Sample) int {
	if len(samples) == 0 {
		return 0
	}
	last := slices.MaxFunc(samples, func(a, b results.Sample) int { return cmp.Compare(a.Repeat, b.Repeat) })
	return last.Repeat
}

func summariesOf(samples []results.Sample) []results.Summary {
	f := results.File{Samples: samples}
	f.Summarize()
	return f.Summaries
}
