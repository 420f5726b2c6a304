package outbox

import (
	"slices"
	"time"
)

// StandbyRank returns the place of me among the relays whose share of n lanes is none and that hold none, in byte
// order of their names, from 0; -1 for a relay that is no standby. A standby of rank n or above is distant: even if
// every owner died at once, its turn would not come.
func StandbyRank(n int, relays []string, held map[string]int, me string) int {
	names := sortedSet(append(slices.Clone(relays), me))
	shares := Shares(n, names, held)
	rank := 0
	for _, name := range names {
		if shares[name] > 0 || held[name] > 0 {
			continue
		}
		if name == me {
			return rank
		}
		rank++
	}
	return -1
}

// Rests reports whether a distant standby may answer a round of acquiring without asking the database: rested is the
// time since its last full round, gap the time since the previous call, taken as a forecast of the next. Its
// heartbeat then still comes within three quarters of the lease.
func Rests(rested, gap, lease time.Duration) bool {
	return rested >= 0 && gap >= 0 && rested+gap < lease*3/4
}

// ProbeOrder returns the n lanes in the order in which a store that can only look at one lane at a time tries to take
// them for me: those it held before, then its own range, then the rest ascending.
func ProbeOrder(n int, relays []string, held map[string]int, me string, before []int) []int {
	names := sortedSet(append(slices.Clone(relays), me))
	own := ownRanges(names, Shares(n, names, held))[me]
	order := make([]int, 0, n)
	seen := make([]bool, n)
	add := func(lane int) {
		if lane >= 0 && lane < n && !seen[lane] {
			seen[lane] = true
			order = append(order, lane)
		}
	}
	for _, lane := range before {
		add(lane)
	}
	for lane := own.from; lane < own.to; lane++ {
		add(lane)
	}
	for lane := range n {
		add(lane)
	}
	return order
}
