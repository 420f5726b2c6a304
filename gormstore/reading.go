package gormstore

import "math"

// reading is what a claim found out about one lane.
type reading struct {
	lane   int
	epoch  int64
	held   bool // the session still had it
	nudge  int64
	unread bool  // the batch was full before its turn came
	cut    bool  // there may be more at or above next
	next   int64 // every claimable ready message from the claim's start up to here was returned
}

// readings sorts an answer by lane. Rows come lane after lane in the order of q.lanes, each by number, and a bound
// cuts off the end: lanes before the last row's are complete, that one may be, those after it were not read.
func readings(q claimQuery, a claimAnswer) []reading {
	full := a.cut || len(a.rows) >= q.Limit
	last := -1
	if n := len(a.rows); n > 0 {
		last = a.rows[n-1].ord
	}
	perLane := make([][]*storedRow, len(q.lanes))
	for _, r := range a.rows {
		perLane[r.ord] = append(perLane[r.ord], r)
	}
	readings := make([]reading, len(q.lanes))
	for i, l := range q.lanes {
		nudge, held := a.nudges[l.lane]
		r := reading{lane: l.lane, epoch: l.epoch, held: held, nudge: nudge, unread: full && i > last}
		r.next = a.start(l, nudge)
		for _, row := range perLane[i] {
			if row.state == ready {
				r.next = max(r.next, row.seq+1)
			}
		}
		r.cut = len(perLane[i]) >= l.room || (full && i >= last)
		if a.late[l.lane] {
			r.next = a.start(l, nudge)
		}
		if bound := leftBehind(perLane[i], q.PerKey); bound < math.MaxInt64 {
			r.next, r.cut = min(r.next, bound), true
		}
		readings[i] = r
	}
	return readings
}

// start is where the claim began to read a lane.
func (a claimAnswer) start(l laneStart, nudge int64) int64 {
	switch {
	case nudge != l.nudge:
		return 0
	case a.rewound != nil:
		return min(l.start, *a.rewound+1)
	}
	return l.start
}

// leftBehind returns the lowest number of a lane that the bound per key may have left behind.
func leftBehind(rows []*storedRow, perKey int) int64 {
	bound := int64(math.MaxInt64)
	if perKey == 0 {
		return bound
	}
	counts := map[string]int{}
	for _, r := range rows {
		if r.Key == "" {
			continue
		}
		counts[r.Key]++
		if counts[r.Key] == perKey {
			bound = min(bound, r.seq+1)
		}
	}
	return bound
}
