package protocolcheck

import "math/bits"

// reader generates the steps of a Reading. Numbers are counted from 1; a bound of n means that nothing at or below n is
// missing.
type reader struct {
	Reading
	lower  [maxMessages]set
	broken Invariant
	steps  []step[readState]
}

func newReader(r Reading) *reader {
	m := &reader{Reading: r}
	for i, k := range r.Keys {
		for j := range i {
			if k != 0 && r.Keys[j] == k {
				m.lower[i] |= one(j)
			}
		}
	}
	return m
}

func (m *reader) initial() readState { return readState{relay: horizon{cursor: 1}} }

// canonical: no two states are alike.
func (m *reader) canonical(s *readState) readState { return *s }

// isSettled: nothing is stuck that each claim would read.
func (m *reader) isSettled(*readState) bool { return true }

func (m *reader) add(e event, n *readState) {
	m.steps = append(m.steps, step[readState]{event: e, to: *n, broken: m.broken})
	m.broken = 0
}

func (m *reader) next(s *readState) []step[readState] {
	m.steps = m.steps[:0]
	for i := range m.Keys {
		m.write(s, i)
		m.operate(s, i)
	}
	m.outsider(s)
	switch {
	case s.claim.stage == snapshot:
		m.answer(s)
	case s.claim.names != 0:
		m.settle(s)
	default:
		m.claim(s)
	}
	return m.steps
}

const (
	evID       verb = "the writer of {set} gets its transaction id"
	evNumber   verb = "the writer of {set} gets its number"
	evWritten  verb = "the writer of {set} commits"
	evOutsider verb = "an unrelated transaction begins and commits, so that snapshots list who runs"
	evRead     verb = "a claim takes its snapshot, which offers {set}"
	evAnswer   verb = "the claim reads from its cursor on, and names {set}"
	evDone     verb = "the relay settles {set} as delivered"
	evReleased verb = "the relay settles {set} as released"
	evBack     verb = "the relay settles {set} as to be tried again, releases what is behind it and delivers the rest"
	evAside    verb = "the relay settles {set} as parked, releases what is behind it and delivers the rest"
)

// write lets a writer go on: id and number, in the order that the rule wants, and the commit. Writers of a key do all
// of it one after another.
func (m *reader) write(s *readState, i int) {
	w := s.writers[i]
	if w.ended {
		return
	}
	for j := range i {
		if m.lower[i].has(j) && !s.writers[j].ended {
			return
		}
	}
	n := *s
	switch {
	case !w.hasID && (m.Rules.IDFirst || w.numbered):
		n.writers[i].hasID = true
		for j := range m.Keys {
			if s.writers[j].hasID {
				n.writers[i].below |= one(j)
			}
		}
		m.add(event{verb: evID, set: one(i)}, &n)
	case !w.numbered:
		if m.Rules.InOrder && i > 0 && !s.writers[i-1].numbered {
			return
		}
		n.writers[i].numbered = true
		m.add(event{verb: evNumber, set: one(i)}, &n)
	default:
		n.writers[i].ended = true
		n.messages[i] = ready
		n.list(w.below)
		m.add(event{verb: evWritten, set: one(i)}, &n)
	}
}

// list marks those of writers that run, because a later transaction has completed.
func (s *readState) list(writers set) {
	for i := range s.writers {
		if w := &s.writers[i]; writers.has(i) && w.hasID && !w.ended {
			w.listed = true
		}
	}
}

func (m *reader) outsider(s *readState) {
	n := *s
	n.list(one(maxMessages) - 1)
	if n != *s {
		m.add(event{verb: evOutsider}, &n)
	}
}

func (m *reader) operate(s *readState, i int) {
	if s.messages[i] != parked || !m.Operator {
		return
	}
	for _, act := range []struct {
		verb verb
		to   messageState
	}{{evRequeue, waiting}, {evDiscard, discarded}} {
		n := *s
		n.messages[i], n.nudged = act.to, true
		m.add(event{verb: act.verb, set: one(i)}, &n)
	}
}

// claim is the snapshot: it decides where to read, and what there is.
func (m *reader) claim(s *readState) {
	n := *s
	c := &n.claim
	c.stage = snapshot
	start := m.start(s)
	for i := range m.Keys {
		w := s.writers[i]
		switch {
		case w.hasID && !w.ended && w.listed:
			c.listed |= one(i)
		case s.messages[i] == waiting && !m.isHeld(s, i):
			c.offered |= one(i)
			c.read |= one(i)
		case s.messages[i] == ready && !m.isHeld(s, i):
			c.offered |= one(i)
			if number(i) >= start {
				c.read |= one(i)
			}
		}
	}
	m.add(event{verb: evRead, set: c.offered}, &n)
}

// number is that of message i.
func number(i int) uint8 { return uint8(i) + 1 }

// start is the lowest of the cursor, of the bound for writers that were not listed, and of the bounds of those that
// were and have ended.
func (m *reader) start(s *readState) uint8 {
	r := &s.relay
	start := r.cursor
	if m.Rules.TrackUnlisted {
		start = min(start, r.base+1)
	}
	for i := range m.Keys {
		if m.Rules.TrackWriters && r.listed.has(i) && s.writers[i].ended {
			start = min(start, r.low[i]+1)
		}
	}
	return start
}

func (m *reader) isHeld(s *readState, i int) bool {
	for j := range i {
		if m.lower[i].has(j) && (s.messages[j] == waiting || s.messages[j] == parked) {
			return true
		}
	}
	return false
}

// answer is the claim's commit. It reads the nudge as it is now, while its messages are as the snapshot has them.
func (m *reader) answer(s *readState) {
	n := *s
	c, r := &n.claim, &n.relay
	nudged := s.nudged && m.Rules.Nudge
	if nudged {
		c.read = c.offered
	}
	if c.read != c.offered {
		m.broken |= ReadsAll
	}
	before := r.highest
	r.highest = max(r.highest, uint8(bits.Len8(uint8(c.read))))
	r.cursor = max(r.cursor, r.highest+1)
	if nudged && m.Rules.NudgeTwice {
		r.cursor = 1
	}
	n.nudged = false
	m.remember(r, c.listed, before)
	for i := range m.Keys {
		if c.read.has(i) && s.messages[i] == waiting {
			c.wasDue |= one(i)
		}
	}
	if c.read != 0 { // recorded, by a transaction whose id comes after its snapshot
		n.list(one(maxMessages) - 1)
	}
	e := event{verb: evAnswer, set: c.read}
	n.claim = readClaim{names: c.read, wasDue: c.wasDue}
	m.add(e, &n)
}

// remember is what the claim leaves open. before is the highest number that had been returned when it was sent.
func (m *reader) remember(r *horizon, listed set, before uint8) {
	old := *r
	r.listed = listed
	for i := range r.low {
		switch {
		case !listed.has(i):
			r.low[i] = 0
		case old.listed.has(i):
		case m.Rules.TwoBack:
			r.low[i] = old.base
		default:
			r.low[i] = before
		}
	}
	r.base = before
}

// settle delivers all, or all but one message and the later ones of its key, or hands nothing over.
func (m *reader) settle(s *readState) {
	m.settleNone(s)
	m.settleBut(s, -1, ready, evDone)
	for i := range m.Keys {
		if s.claim.names.has(i) {
			m.settleBut(s, i, waiting, evBack)
			m.settleBut(s, i, parked, evAside)
		}
	}
}

func (m *reader) settleNone(s *readState) {
	n := *s
	if m.Rules.BelowReleased {
		first := bits.TrailingZeros8(uint8(s.claim.names))
		n.relay.cursor = min(n.relay.cursor, number(first))
	}
	n.claim = readClaim{}
	m.add(event{verb: evReleased, set: s.claim.names}, &n)
}

func (m *reader) settleBut(s *readState, bad int, to messageState, v verb) {
	n := *s
	e := event{verb: v, set: s.claim.names}
	for i := range m.Keys {
		switch {
		case !s.claim.names.has(i):
			continue
		case i == bad:
			n.messages[i], e.set = to, one(i)
		case bad >= 0 && m.lower[i].has(bad):
			if m.Rules.BelowReleased {
				n.relay.cursor = min(n.relay.cursor, number(i))
			}
		default:
			m.deliver(&n, i)
		}
		if s.claim.wasDue.has(i) && m.Rules.BelowDue {
			n.relay.cursor = min(n.relay.cursor, number(i))
		}
	}
	n.claim = readClaim{}
	m.add(e, &n)
}

// deliver is in order only when no earlier message of the key is left.
func (m *reader) deliver(n *readState, i int) {
	for j := range i {
		if v := n.messages[j]; m.lower[i].has(j) && v != gone && v != discarded {
			m.broken |= KeyOrder
		}
	}
	n.messages[i] = gone
}
