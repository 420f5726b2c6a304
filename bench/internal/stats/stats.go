// Package stats sums up repeated measurements.
package stats

import (
	"slices"
)

// Summary is the middle and the ends of some measurements.
type Summary struct {
	Repeats int     `json:"repeats"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
}

// Of sums up values. The median of an even number of them is the mean of the middle two; of none, everything is 0.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Summary{
		Repeats: len(sorted),
		Median:  (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2,
		Min:     sorted[0],
		Max:     sorted[len(sorted)-1],
	}
}

// Spread is the distance between the ends as a share of the median; 0 if the median is 0.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Max - s.Min) / s.Median
}
