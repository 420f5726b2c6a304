package gormstore

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// The net under all cursors: how often lanes are read from zero again.
const (
	rescanBusy = time.Second // one lane, while messages flow: that which has waited longest
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
	turn    int64
	busy    bool
	scanned time.Time
	rest    time.Duration
	pauses  []outbox.Pause // known so far

	reading sync.Mutex // held while pauses are read
}

// laneState is the place in one lane, valid for one epoch.
type laneState struct {
	epoch   int64
	nudge   int64
	cursor  int64 // every ready message below is held behind its key, or was claimed
	turn    int64 // in which it was read last
	horizon *horizon
	scanned time.Time
	open    bool // an unsettled claim names messages of it, so it is not claimed
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
		ses = newSession()
		s.sessions[id] = ses
	}
	return ses
}

func newSession() *session { return &session{lanes: map[int]*laneState{}, scanned: time.Now()} }

// remembered is a session for what is left to do of it, which brings none back that has ended.
func (s *Store) remembered(id uuid.UUID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses, ok := s.sessions[id]; ok {
		return ses
	}
	return newSession()
}

func (s *Store) forget(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// plan says where a claim reads, and how much of each lane.
func (ses *session) plan(r outbox.ClaimRequest, now time.Time, roomOf func(claimQuery) int) claimQuery {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q := claimQuery{ClaimRequest: r, highest: ses.highest}
	var states []*laneState
	q.Lanes = slices.DeleteFunc(slices.Clone(r.Lanes), func(l outbox.Lease) bool {
		state := ses.lane(l, now)
		if !state.open {
			states = append(states, state)
		}
		return state.open
	})
	q.open = mergeHorizons(states)
	rescan := ses.chooseRescan(q.ClaimRequest, now)
	q.rescan = len(rescan) > 0
	room := roomOf(q)
	for i, lease := range q.Lanes {
		start := q.open.floor(states[i].cursor)
		if rescan[lease.Lane] {
			start = 0
		}
		q.lanes = append(q.lanes, laneStart{lease.Lane, lease.Epoch, states[i].nudge, start, room})
	}
	ses.inTurn(q.lanes)
	return q
}

// fairRoom is a room for each lane that is to give its part before others are asked for more.
func (q claimQuery) fairRoom() int {
	room := q.Limit/max(1, len(q.Lanes)) + 1
	if q.PerKey > 0 {
		room = max(room, 2*q.PerKey) // a key at its bound leaves as much for others
	}
	return min(room, q.Limit)
}

// inTurn puts the lanes first that a full batch left out last.
func (ses *session) inTurn(lanes []laneStart) {
	slices.SortStableFunc(lanes, func(a, b laneStart) int {
		return cmp.Compare(ses.lanes[a.lane].turn, ses.lanes[b.lane].turn)
	})
}

// lane returns the state of a lane under the epoch of l; a new epoch starts from zero.
func (ses *session) lane(l outbox.Lease, now time.Time) *laneState {
	state, ok := ses.lanes[l.Lane]
	if !ok || state.epoch != l.Epoch {
		state = &laneState{epoch: l.Epoch, scanned: now}
		ses.lanes[l.Lane] = state
	}
	return state
}

// chooseRescan returns the lanes to read from zero in this claim: one of those that have waited longest while messages
// flow, all that have waited for long while none do. A claim may be about a few lanes again and again, and the others
// keep their turn.
func (ses *session) chooseRescan(r outbox.ClaimRequest, now time.Time) map[int]bool {
	every := rescanIdle
	if ses.busy {
		every = rescanBusy * time.Duration(len(ses.lanes))
	}
	if r.Suspect || now.Sub(ses.scanned) < max(rescanBusy, ses.rest) {
		return nil
	}
	chosen := slices.DeleteFunc(slices.Clone(r.Lanes), func(l outbox.Lease) bool {
		return now.Sub(ses.lanes[l.Lane].scanned) < every
	})
	if len(chosen) == 0 {
		return nil
	}
	if ses.busy {
		chosen = []outbox.Lease{slices.MinFunc(chosen, func(a, b outbox.Lease) int {
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
func (ses *session) apply(q claimQuery, a claimAnswer, read []reading, took time.Duration) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	for _, r := range a.rows {
		ses.highest = max(ses.highest, r.seq)
		if l, ok := ses.lanes[r.Lane]; ok {
			l.open = true
		}
	}
	if q.Suspect {
		return // it read no ready message
	}
	ses.busy = len(a.rows) > 0
	if q.rescan {
		ses.rest = rescanRest * took
	}
	ses.turn++
	open := nextHorizon(q, a.snapshot)
	for _, r := range read {
		if l, ok := ses.lanes[r.lane]; ok && l.epoch == r.epoch {
			l.advance(r, open)
			if !r.unread {
				l.turn = ses.turn
			}
		}
	}
}

// advance moves one lane on.
func (l *laneState) advance(r reading, open *horizon) {
	l.horizon = open
	if r.held {
		l.nudge = r.nudge
	}
	switch {
	case !r.held:
		l.cursor = 0
	case r.cut:
		l.cursor = r.next
	default:
		l.cursor = max(l.cursor, r.next)
	}
}

// close ends a claim in the lane of one of its messages; the next one starts at seq or below.
func (ses *session) close(lane int, seq int64) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if l, ok := ses.lanes[lane]; ok {
		l.open, l.cursor = false, min(l.cursor, seq)
	}
}
