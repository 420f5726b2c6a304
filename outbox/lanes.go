package outbox

import (
	"cmp"
	"slices"
)

// LaneState is what a store knows of one lane: its owner ("" for none), and whether the owner's lease has run out.
type LaneState struct {
	Owner   string
	Expired bool
}

// LanePlan is what one relay does in a round of rebalancing, each list ascending.
type LanePlan struct {
	Keep    []int
	Release []int
	Claim   []int
}

// Shares returns how many of n lanes each of relays may hold: n/len(relays), and one more for n mod len(relays) of
// them, first for those that hold more than the floor, then for the others, both in byte order of their names. All
// relays that see the same table compute the same shares, and one that moves towards its share changes no other's.
// held may be nil.
func Shares(n int, relays []string, held map[string]int) map[string]int {
	names := sortedSet(relays)
	shares := make(map[string]int, len(names))
	if len(names) == 0 {
		return shares
	}
	floor, extra := n/len(names), n%len(names)
	for _, name := range names {
		shares[name] = floor
	}
	give := func(above bool) {
		for _, name := range names {
			if extra > 0 && (held[name] > floor) == above && shares[name] == floor {
				shares[name]++
				extra--
			}
		}
	}
	give(true)
	give(false)
	return shares
}

// PlanLanes returns me's part of the round that gives every relay its share of lanes, where table[i] is the state of
// lane i and relays are those alive. Kept lanes never move; a lane of a live lease is never claimed; two relays that
// see the same table never plan the same claim. It is for authors of stores.
func PlanLanes(table []LaneState, relays []string, me string) LanePlan {
	names := sortedSet(append(slices.Clone(relays), me))
	held := make(map[string]int, len(names))
	var mine, free []int
	for lane, s := range table {
		switch {
		case s.Owner == me:
			mine = append(mine, lane)
			held[me]++
		case s.Owner == "" || s.Expired:
			free = append(free, lane)
		default:
			held[s.Owner]++
		}
	}
	shares := Shares(len(table), names, held)
	own := ownRanges(names, shares)

	var plan LanePlan
	slices.SortFunc(mine, func(a, b int) int { // the own range first, then ascending
		return cmp.Or(-compareBool(own[me].has(a), own[me].has(b)), cmp.Compare(a, b))
	})
	keep := min(len(mine), shares[me])
	plan.Keep, plan.Release = slices.Sorted(slices.Values(mine[:keep])), slices.Sorted(slices.Values(mine[keep:]))
	if len(mine) < shares[me] {
		plan.Claim = planClaims(free, names, shares, held, own, me)
	}
	return plan
}

// planClaims deals the free lanes to every relay that is short, first each one's own range, then what is left to the
// lowest names, and returns those of me.
func planClaims(free []int, names []string, shares, held map[string]int, own map[string]laneRange, me string) []int {
	short := make(map[string]int, len(names))
	for _, name := range names {
		short[name] = max(0, shares[name]-held[name])
	}
	var claims, rest []int
	deal := func(lane int, to string) {
		short[to]--
		if to == me {
			claims = append(claims, lane)
		}
	}
	for _, lane := range free {
		i := slices.IndexFunc(names, func(name string) bool { return own[name].has(lane) })
		if i >= 0 && short[names[i]] > 0 {
			deal(lane, names[i])
		} else {
			rest = append(rest, lane)
		}
	}
	for _, lane := range rest {
		if i := slices.IndexFunc(names, func(name string) bool { return short[name] > 0 }); i >= 0 {
			deal(lane, names[i])
		}
	}
	slices.Sort(claims)
	return claims
}

// laneRange is the run of lanes that a relay's share covers; it orders claims and grants nothing.
type laneRange struct{ from, to int }

func (r laneRange) has(lane int) bool { return r.from <= lane && lane < r.to }

// ownRanges cuts the lanes into contiguous ranges in the order of names.
func ownRanges(names []string, shares map[string]int) map[string]laneRange {
	ranges := make(map[string]laneRange, len(names))
	from := 0
	for _, name := range names {
		ranges[name] = laneRange{from, from + shares[name]}
		from += shares[name]
	}
	return ranges
}

func sortedSet(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
