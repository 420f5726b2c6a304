package verify

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// unexcused finds copies that arrived outside the time of every fault, and those that came in one whose bound was used
// up already. Each copy takes from the fault that ends first, which excuses as many copies as any other choice.
func (c *Checker) unexcused(outside, above func(delivery)) {
	slices.SortStableFunc(c.copies, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })
	slices.SortFunc(c.faults, func(a, b fault) int { return cmp.Compare(a.from, b.from) })
	var open endings
	faults, covered := c.faults, int64(math.MinInt64)
	for _, d := range c.copies {
		for len(faults) > 0 && faults[0].from <= d.at {
			covered = max(covered, faults[0].to)
			heap.Push(&open, faults[0])
			faults = faults[1:]
		}
		for len(open) > 0 && (open[0].to < d.at || open[0].bound == 0) {
			heap.Pop(&open)
		}
		switch {
		case len(open) > 0:
			open[0].bound--
		case covered >= d.at:
			above(d)
		default:
			outside(d)
		}
	}
}

// endings is a heap of faults by their end.
type endings []fault

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].to < e[j].to }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push is heap.Interface's.
func (e *endings) Push(f any) { *e = append(*e, f.(fault)) } //nolint:errcheck // unexcused pushes nothing else

// Pop is heap.Interface's.
func (e *endings) Pop() any {
	last := len(*e) - 1
	f := (*e)[last]
	*e = (*e)[:last]
	return f
}
