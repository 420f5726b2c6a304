package gormstore

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// The net under all cursors: how often lanes are read from zero again.
const (
	rescanBusy = time.Second // one lane, while messages flow
	rescanIdle = 30 * time.Second
	rescanRest = 20 // and not before this many times its own duration
)

// session is what the store remembers of one run of a relay: where to go on reading in each lane. A new session
// starts at zero; within one, the rules here and in horizon.go keep every message that may be claimed at or above its
// lane's cursor.
type session struct {
	mu      sync.Mutex
	joined  bool // its row has been seen alive
	lanes   map[int]*laneState
	highest int64 // number that any claim has returned
	turn    int
	busy    bool
	scanned time.Time
	rest    time.Duration
}

// laneState is the place in one lane, valid for one epoch. A lane is never in two open claims.
type laneState struct {
	epoch   int64
	nudge   int64
	cursor  int64 // every ready message below is held behind its key, or was claimed
	limit   int   // messages to read in one claim
	horizon *horizon
	scanned time.Time
}

// handle is the store's own part of a claimed message.
type handle struct {
	seq   int64
	state state
}

func (s *Store) session(id uuid.UUID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.sessions[id]
	if !ok {
		ses = &session{lanes: map[int]*laneState{}, scanned: time.Now()}
		s.sessions[id] = ses
	}
	return ses
}

func (s *Store) forget(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// plan says where a claim reads.
func (ses *session) plan(r outbox.ClaimRequest, now time.Time) claimQuery {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q := claimQuery{ClaimRequest: r, highest: ses.highest}
	states := make([]*laneState, len(r.Lanes))
	for i, lease := range r.Lanes {
		states[i] = ses.lane(lease)
	}
	q.open = mergeHorizons(states)
	rescan := ses.chooseRescan(r, now)
	q.rescan = len(rescan) > 0
	ses.turn++
	least := r.Limit/max(1, len(r.Lanes)) + 1
	for i := range r.Lanes {
		j := (i + ses.turn) % len(r.Lanes) // a full batch serves the first best, so everyone comes first in turn
		lane, state := r.Lanes[j].Lane, states[j]
		state.limit = min(max(state.limit, least), r.Limit)
		start := q.open.floor(state.cursor)
		if rescan[lane] {
			start = 0
		}
		q.lanes = append(q.lanes, laneStart{lane, state.epoch, state.nudge, start, state.limit})
	}
	return q
}

// lane returns the state of a lane under the epoch of l; a new epoch starts from zero.
func (ses *session) lane(l outbox.Lease) *laneState {
	state, ok := ses.lanes[l.Lane]
	if !ok || state.epoch != l.Epoch {
		state = &laneState{epoch: l.Epoch}
		ses.lanes[l.Lane] = state
	}
	return state
}

// chooseRescan returns the lanes to read from zero in this claim: the one that has waited longest while messages flow,
// all of them while none do.
func (ses *session) chooseRescan(r outbox.ClaimRequest, now time.Time) map[int]bool {
	every := rescanIdle
	if ses.busy {
		every = rescanBusy
	}
	if r.Suspect || len(r.Lanes) == 0 || now.Sub(ses.scanned) < max(every, ses.rest) {
		return nil
	}
	chosen := r.Lanes
	if ses.busy {
		chosen = []outbox.Lease{slices.MinFunc(r.Lanes, func(a, b outbox.Lease) int {
			return ses.lanes[a.Lane].scanned.Compare(ses.lanes[b.Lane].scanned)
		})}
	}
	set := make(map[int]bool, len(chosen))
	for _, l := range chosen {
		ses.lanes[l.Lane].scanned = now
		set[l.Lane] = true
	}
	ses.scanned = now
	return set
}

// apply moves the cursors by the answer of a claim.
func (ses *session) apply(q claimQuery, a claimAnswer, took time.Duration) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for _, r := range a.rows {
		ses.highest = max(ses.highest, r.seq)
	}
	if q.Suspect {
		return // it read no ready message
	}
	ses.busy = len(a.rows) > 0
	if q.rescan {
		ses.rest = rescanRest * took
	}
	open := nextHorizon(q, a.snapshot)
	for _, r := range readings(q, a) {
		if l, ok := ses.lanes[r.lane]; ok && l.epoch == r.epoch {
			l.advance(r, open)
		}
	}
}

// advance moves one lane on.
func (l *laneState) advance(r reading, open *horizon) {
	l.horizon = open
	switch {
	case !r.held:
		l.cursor = 0
	case r.nudge != l.nudge: // an operator unblocked something; this snapshot may be older than the nudge it read
		l.nudge, l.cursor = r.nudge, 0
	case r.cut:
		l.cursor = r.next
	default:
		l.cursor = max(l.cursor, r.next)
	}
	switch {
	case (r.returned >= l.limit || r.capped) && !r.full:
		l.limit *= 2
	case r.returned < l.limit/2:
		l.limit /= 2
	}
}

// lower makes the next claim of a lane start at seq or below.
func (ses *session) lower(lane int, seq int64) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if l, ok := ses.lanes[lane]; ok {
		l.cursor = min(l.cursor, seq)
	}
}
