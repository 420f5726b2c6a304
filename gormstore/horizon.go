package gormstore

import (
	"strings"
)

// horizon is what a claim could not see: rows of transactions that were still open. A reader that only moves forward
// would lose them, and their keys' order, because numbers are given before transactions commit.
//
// A row that claim n missed was written by a transaction that its snapshot listed as running, or by one that is not
// below the snapshot's xmax. PostgreSQL's xmax is the latest completed transaction plus one, so the second kind may
// have been running already; but its id is above that of every claim that had committed before. A claim takes its id
// after it has read, and Enqueue takes the transaction's id before its numbers, so all numbers of such a writer are
// above everything that those claims returned. Hence two bounds: base, the highest number returned before this claim
// was sent, for writers that it did not list; and one for each that it did, which is the base of the last claim that
// did not list it yet. The next claim reads each lane from the lowest of its cursor, base, and the bounds of the listed
// writers that have ended by its own snapshot.
type horizon struct {
	base int64
	low  map[string]int64 // transaction id → nothing it wrote is at or below
}

// mergeHorizons returns what is open for any of lanes. Every bound in it holds for all lanes, so the lowest is safe.
func mergeHorizons(lanes []*laneState) *horizon {
	var merged *horizon
	seen := map[*horizon]bool{nil: true}
	for _, l := range lanes {
		h := l.horizon
		if seen[h] {
			continue
		}
		seen[h] = true
		if merged == nil {
			merged = &horizon{base: h.base, low: map[string]int64{}}
		}
		merged.base = min(merged.base, h.base)
		for x, low := range h.low {
			if known, ok := merged.low[x]; !ok || low < known {
				merged.low[x] = low
			}
		}
	}
	if merged == nil { // lanes without a horizon have their cursor at zero
		return &horizon{}
	}
	return merged
}

// nextHorizon is what the claim q leaves open, by the text of its snapshot: xmin:xmax:running,running.
func nextHorizon(q claimQuery, snapshot string) *horizon {
	h := &horizon{base: q.highest, low: map[string]int64{}}
	_, running, _ := strings.Cut(strings.TrimLeft(snapshot, "0123456789"), ":")
	_, running, _ = strings.Cut(running, ":")
	for x := range strings.SplitSeq(running, ",") {
		if x == "" {
			continue
		}
		low, ok := q.open.low[x]
		if !ok {
			low = q.open.base
		}
		h.low[x] = low
	}
	return h
}

// floor is the start of a lane before it is known which of the listed writers have ended.
func (h *horizon) floor(cursor int64) int64 { return min(cursor, h.base+1) }

// bounds returns the listed writers and their bounds, in step.
func (h *horizon) bounds() (ids []string, lows []int64) {
	for x, low := range h.low {
		ids, lows = append(ids, x), append(lows, low)
	}
	return ids, lows
}
