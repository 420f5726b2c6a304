package protocolcheck

const (
	evPublish verb = "{who} checks the age of its lease and publishes {set}"
	evTooLate verb = "{who} finds the lease of its claim too old, hands nothing over and settles {set} as released"
	evDoom    verb = "{who} parks {set}, which has ended processes, without publishing it"
	evSend    verb = "{who} hands {set} to the broker"
	evAccept  verb = "the broker accepts {set} from {who}"
	evRefuse  verb = "the broker refuses {set} from {who}"
	evConfirm verb = "{who} gets the confirm of {set}"
	evUnknown verb = "{who} never hears what became of {set}"
	evFallout verb = "the publisher of {who} fails {set} behind an earlier one of its key"
	evCancel  verb = "{who}, stopping, cancels {set} in flight and settles it as released"
)

// startPublish checks the lease that the claim was made under; a session's lease never revives.
func (m *model) startPublish(s *state, w who) {
	n := *s
	p := &n.sides[w].process
	all := p.in(kept)
	for i := range m.Messages {
		if v := s.messages[i]; all == one(i) && v.state == suspect && v.crashes >= m.MaxCrashes {
			p.sends[i] = doomed
			m.sendSettle(&n, w)
			m.add(event{verb: evDoom, who: w, set: all}, &n, true)
			return
		}
	}
	if m.CheckAge && s.sides[w].session != alive {
		m.sendSettle(&n, w)
		m.add(event{verb: evTooLate, who: w, set: all}, &n, true)
		return
	}
	p.phase = publishing
	m.add(event{verb: evPublish, who: w, set: all}, &n, true)
}

// in returns the messages of the claim in one of states.
func (p *process) in(states ...sendState) set {
	var messages set
	for i, v := range p.sends {
		for _, state := range states {
			if v == state {
				messages |= one(i)
			}
		}
	}
	return messages
}

func (m *model) publishSteps(s *state, w who) {
	p := &s.sides[w].process
	toSend := false
	for i := range m.Messages {
		switch p.sends[i] {
		case kept:
			toSend = m.send(s, w, i) || toSend
		case flying:
			m.acceptFrom(s, w, i)
			m.refuse(s, w, i)
			m.loseConfirm(s, w, i)
			m.fallOut(s, w, i)
		case held:
			m.move(s, w, i, confirmed, evConfirm)
			m.loseConfirm(s, w, i)
		}
	}
	open := p.in(flying, held)
	if !toSend && open == 0 {
		m.finishPublish(s, w)
	}
	if p.stopping && open != 0 && !m.AwaitSends {
		m.cancel(s, w, open)
	}
}

// send hands message i over as soon as the earlier ones of its key allow it, and reports whether that may still come.
func (m *model) send(s *state, w who, i int) bool {
	p := &s.sides[w].process
	if p.stopping {
		return false
	}
	lower := m.lower[i] & p.in(kept, flying, held, confirmed, refused, unknown, fallout)
	before := p.in(confirmed)
	if m.KeyOrdered || !m.Waves {
		before = p.in(flying, held, confirmed)
	}
	if !m.KeyOrdered && !m.Waves {
		before |= p.in(refused, unknown)
	}
	if lower&^before != 0 {
		return lower&p.in(refused, unknown, fallout) == 0
	}
	n := *s
	n.sides[w].process.sends[i] = flying
	n.sides[w].hand.sent |= one(i) & n.sides[w].hand.names
	m.add(event{verb: evSend, who: w, set: one(i)}, &n, true)
	return true
}

func (m *model) move(s *state, w who, i int, to sendState, v verb) {
	n := *s
	n.sides[w].process.sends[i] = to
	m.add(event{verb: v, who: w, set: one(i)}, &n, true)
}

// acceptFrom is the broker's; with a key-ordered publisher it never takes a message before the earlier ones of the
// call.
func (m *model) acceptFrom(s *state, w who, i int) {
	p := &s.sides[w].process
	if m.KeyOrdered && (m.lower[i]&p.in(flying, refused, fallout) != 0 || m.lower[i]&p.in(unknown)&^s.accepted != 0) {
		return
	}
	n := *s
	n.sides[w].process.sends[i] = held
	m.accept(&n, i)
	m.add(event{verb: evAccept, who: w, set: one(i)}, &n, true)
}

// refuse takes with it, of a key-ordered call, the copies behind the message that nobody waits for.
func (m *model) refuse(s *state, w who, i int) {
	if s.left.refusals == 0 {
		return
	}
	n := *s
	spend(&n.left.refusals)
	if m.KeyOrdered {
		n.late &^= m.higher[i] & s.sides[w].process.in(unknown)
	}
	n.sides[w].process.sends[i] = refused
	m.add(event{verb: evRefuse, who: w, set: one(i)}, &n, false)
}

// loseConfirm: the copy may have landed, may land later, or never.
func (m *model) loseConfirm(s *state, w who, i int) {
	if s.left.confirms == 0 {
		return
	}
	n := *s
	spend(&n.left.confirms)
	n.failed = true
	n.late |= m.landing(&s.sides[w].process) & one(i)
	n.sides[w].process.sends[i] = unknown
	m.add(event{verb: evUnknown, who: w, set: one(i)}, &n, false)
}

// landing returns the messages on their way that may still land when nobody waits for them.
func (m *model) landing(p *process) set {
	landing := p.in(flying)
	for i := range m.Messages {
		if m.KeyOrdered && m.lower[i]&p.in(refused, fallout) != 0 {
			landing &^= one(i)
		}
	}
	return landing
}

// fallOut fails a message that its publisher never lets pass because an earlier one of the key failed. It was not
// accepted and never will be, and it is not to blame: no attempt.
func (m *model) fallOut(s *state, w who, i int) {
	p := &s.sides[w].process
	if !m.KeyOrdered || m.lower[i]&p.in(refused, unknown, fallout) == 0 {
		return
	}
	n := *s
	n.sides[w].process.sends[i] = fallout
	n.sides[w].hand.sent &^= one(i)
	m.add(event{verb: evFallout, who: w, set: one(i)}, &n, true)
}

// cancel is what AwaitSends forbids.
func (m *model) cancel(s *state, w who, open set) {
	n := *s
	p := &n.sides[w].process
	n.late |= m.landing(p)
	for i := range m.Messages {
		if open.has(i) {
			p.sends[i] = kept
		}
	}
	m.sendSettle(&n, w)
	m.add(event{verb: evCancel, who: w, set: open}, &n, true)
}
