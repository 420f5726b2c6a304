package protocolcheck

const (
	evBury        verb = "{who} frees the lanes of {other} in a transaction that is still open"
	evBuryLook    verb = "{who} starts the one statement that frees the lanes of {other} and folds the claims that it sees"
	evFold        verb = "{who} folds the claims of {other}, which name {set}, and commits the takeover"
	evAcquire     verb = "{who} acquires and holds {lanes}"
	evAcquireLost verb = "{who} acquires {lanes} and has no answer"
	evRevive      verb = "the heartbeat of {who} revives its session"
	evDrain       verb = "{who} is to give back {lanes}, and claims it no more"
	evLook        verb = "{who} starts the one statement that gives back {lanes}, and sees no claim of it"
	evGive        verb = "{who} gives back {lanes}"
)

// laneSteps are those of the loop that keeps the lanes of a relay.
func (m *model) laneSteps(s *state, w who) {
	p := &s.sides[w].process
	if p.phase == down {
		return
	}
	if s.takeover.running && s.takeover.by == w {
		m.finishTakeover(s)
		return
	}
	if !m.NeverRevive && !m.locked(s, w) && (s.sides[w].session == lapsed || s.sides[w].session == ended) {
		n := *s
		n.sides[w].session = alive
		m.add(event{verb: evRevive, who: w}, &n, false)
	}
	if s.sides[w].session != alive || p.stopping {
		return
	}
	m.startTakeover(s, w)
	m.acquire(s, w)
	for l := range m.Lanes {
		m.giveBack(s, w, l)
	}
}

// lose takes lane l from whoever has it; the new epoch fences all that was sent under the old one.
func (m *model) lose(n *state, l int, to who) {
	n.lanes[l] = to
	for w := range n.sides {
		n.sides[w].process.draining &^= one(l)
	}
	m.raise(n, l)
}

func (m *model) raise(n *state, l int) {
	for w := range n.sides {
		d := &n.sides[w]
		d.process.grip &^= one(l)
		d.process.looked &^= one(l)
		if m.CompareEpochs {
			d.claim.lanes &^= one(l)
		}
	}
}

// locked reports whether an open takeover holds the lanes of w.
func (m *model) locked(s *state, w who) bool {
	return m.FoldLater && s.takeover.running && s.takeover.dead == w
}

// startTakeover recovers one session that has lapsed: it locks its lanes, or, as one statement, takes its snapshot
// first.
func (m *model) startTakeover(s *state, w who) {
	for d := range former + 1 {
		if d == w || s.takeover.running || s.sides[d].session != lapsed {
			continue
		}
		n := *s
		n.takeover = takeover{running: true, by: w, dead: d}
		e := event{verb: evBury, who: w, other: d}
		if !m.FoldLater {
			n.takeover.sawHand, n.takeover.sawStray = s.sides[d].hand.names != 0, s.sides[d].stray.names != 0
			e.verb = evBuryLook
		}
		m.add(e, &n, true)
	}
}

func (m *model) finishTakeover(s *state) {
	n := *s
	t := s.takeover
	n.takeover = takeover{}
	n.sides[t.dead].session = ended
	for l := range m.Lanes {
		if s.lanes[l] == t.dead {
			m.lose(&n, l, nobody)
		}
	}
	e := event{verb: evFold, who: t.by, other: t.dead}
	d := &n.sides[t.dead]
	if m.FoldLater || t.sawHand {
		e.set |= d.hand.names
		m.fold(&n, d, inHand)
	}
	if m.FoldLater || t.sawStray {
		e.set |= d.stray.names
		m.fold(&n, d, astray)
	}
	m.add(e, &n, true)
}

// fold ends a claim of a dead session: each message has used an attempt, and is a suspect.
func (m *model) fold(n *state, d *side, ref claimRef) {
	r := d.row(ref)
	if !m.FoldCounts {
		m.checkCounted(*r, 0)
	}
	for i := range m.Messages {
		if v := &n.messages[i]; m.FoldCounts && r.names.has(i) && v.exists() && v.state != parked {
			v.state = suspect
			m.markHeld(n, i)
			if r.names.single() {
				v.crashes = min(v.crashes+1, m.MaxCrashes)
			}
		}
	}
	if m.FoldDeletes {
		d.drop(ref)
	}
}

// acquire is a heartbeat and takes what is free.
func (m *model) acquire(s *state, w who) {
	free := s.owned(nobody) & (one(m.Lanes) - 1)
	takes := []set{free}
	if m.PartialTakes && free == 0b11 {
		takes = append(takes, 0b01, 0b10)
	}
	for _, take := range takes {
		n := *s
		for l := range m.Lanes {
			if take.has(l) {
				m.lose(&n, l, w)
			}
		}
		if take != 0 && s.left.answers > 0 {
			unheard := n
			spend(&unheard.left.answers)
			m.add(event{verb: evAcquireLost, who: w, set: n.owned(w)}, &unheard, false)
		}
		p := &n.sides[w].process
		p.grip = n.owned(w) &^ p.draining
		if n != *s {
			m.add(event{verb: evAcquire, who: w, set: n.owned(w)}, &n, true)
		}
	}
}

// giveBack drains a lane first, and gives it away in a later round.
func (m *model) giveBack(s *state, w who, l int) {
	p := &s.sides[w].process
	switch {
	case m.Drain && p.draining.has(l):
		m.giveAway(s, w, l, true)
	case m.Drain && s.left.giveBacks > 0 && p.grip.has(l):
		n := *s
		spend(&n.left.giveBacks)
		n.sides[w].process.grip &^= one(l)
		n.sides[w].process.draining |= one(l)
		m.add(event{verb: evDrain, who: w, set: one(l)}, &n, false)
	case !m.Drain && (s.left.giveBacks > 0 || p.looked.has(l)) && s.owned(w).has(l):
		m.giveAway(s, w, l, false)
	}
}

// giveAway locks the lane and looks for claims, or, as one statement, looks and then waits for the lock.
func (m *model) giveAway(s *state, w who, l int, drained bool) {
	isClaimed := s.sides[w].named()&m.inLane[l] != 0
	looked := s.sides[w].process.looked.has(l)
	n := *s
	switch {
	case !m.GiveBackLater && !looked && !isClaimed:
		n.sides[w].process.looked |= one(l)
		if !drained {
			spend(&n.left.giveBacks)
		}
		m.add(event{verb: evLook, who: w, set: one(l)}, &n, true)
	case m.GiveBackWaits && isClaimed && !looked:
	default:
		if !drained && !looked {
			spend(&n.left.giveBacks)
		}
		m.lose(&n, l, nobody)
		m.add(event{verb: evGive, who: w, set: one(l)}, &n, true)
	}
}
