package protocolcheck

const (
	evCrash   verb = "{who} dies"
	evStart   verb = "{who} starts again as a new session"
	evResume  verb = "{who} starts again under its old session"
	evRenew   verb = "{who} learns that its session has ended and draws a new one"
	evStop    verb = "{who} is told to stop"
	evRelease verb = "{who} releases its lanes and ends"
	evBreak   verb = "{who} gets no usable answer from its publisher, releases its lanes and ends without a settle"
)

// processSteps are those of a process as a whole.
func (m *model) processSteps(s *state, w who) {
	d := &s.sides[w]
	if d.process.phase == down {
		m.start(s, w)
		return
	}
	m.crash(s, w)
	if s.left.stops > 0 && !d.process.stopping {
		n := *s
		spend(&n.left.stops)
		n.sides[w].process.stopping = true
		m.add(event{verb: evStop, who: w}, &n, false)
	}
	if s.left.breaks > 0 && d.process.phase == publishing && d.process.in(flying, held) == 0 {
		n := *s
		spend(&n.left.breaks)
		n.failed = true
		m.release(&n, w, true, event{verb: evBreak, who: w})
	}
	switch {
	case d.process.stopping && (d.process.phase == resting || !m.ReleaseLast && d.session != ended):
		m.release(s, w, d.process.phase == resting, event{verb: evRelease, who: w})
	case d.session == alive || d.process.stopping || s.takeover.running && s.takeover.by == w:
	case d.process.phase == resting, d.process.phase == unclaimed: // whoever recovers the session has the claim too
		m.redraw(s, w, event{verb: evRenew, who: w}, true)
	}
}

// crash can come at any moment; what was sent may still arrive.
func (m *model) crash(s *state, w who) {
	if s.left.crashes == 0 {
		return
	}
	n := *s
	spend(&n.left.crashes)
	n.failed = true
	d := &n.sides[w]
	n.late |= m.landing(&d.process)
	d.forget()
	d.process = process{}
	if n.takeover.running && n.takeover.by == w {
		n.takeover = takeover{} // rolled back
	}
	m.add(event{verb: evCrash, who: w}, &n, false)
}

// start is no help where another relay runs: that one must do without.
func (m *model) start(s *state, w who) {
	alone := s.sides[w.other()].process.phase == down
	if m.NewSession {
		m.redraw(s, w, event{verb: evStart, who: w}, alone)
		return
	}
	n := *s
	n.sides[w].session, n.sides[w].process.phase = alive, resting
	if !m.locked(s, w) {
		m.add(event{verb: evResume, who: w}, &n, alone)
	}
}

// redraw begins a new session. The old one stays behind with all that it has left; there is room for one such.
func (m *model) redraw(s *state, w who, e event, heals bool) {
	n := *s
	d := &n.sides[w]
	d.forget()
	d.process = process{phase: resting}
	if !s.isEmpty(w) {
		if s.sides[former].session != none {
			return
		}
		m.leaveBehind(&n, w)
		e.other = former
	}
	*d = side{session: alive, process: d.process}
	m.add(e, &n, heals)
}

func (m *model) leaveBehind(n *state, w who) {
	n.sides[former] = n.sides[w]
	n.sides[former].process = process{}
	for l, owner := range n.lanes {
		if owner == w {
			n.lanes[l] = former
		}
	}
	if n.takeover.running && n.takeover.dead == w {
		n.takeover.dead = former
	}
}

// release stamps the session, frees its lanes and recovers what it may have left, in one transaction.
func (m *model) release(s *state, w who, ends bool, e event) {
	if s.takeover.running && (s.takeover.dead == w || s.takeover.by == w) {
		return
	}
	n := *s
	d := &n.sides[w]
	d.session = ended
	for l := range m.Lanes {
		if s.lanes[l] == w {
			m.lose(&n, l, nobody)
		}
	}
	if m.ReleaseRecover {
		m.fold(&n, d, inHand)
		m.fold(&n, d, astray)
	}
	if ends {
		d.forget()
		d.process = process{}
	}
	m.add(e, &n, e.verb == evRelease)
}
