package protocolcheck

// What happens whatever the relays do: writers commit, operators act, the broker takes late copies, time passes.

const (
	evCommit  verb = "{set} is committed"
	evDue     verb = "{set} is due again"
	evRequeue verb = "an operator requeues {set}"
	evDiscard verb = "an operator discards {set}"
	evLate    verb = "a late copy of {set} lands at the broker"
	evLapse   verb = "the lease of {who} runs out"
)

// writerSteps commit in any order across keys, and in the order of the numbers within a key that writers serialize.
func (m *model) writerSteps(s *state) {
	for i := range m.Messages {
		switch s.messages[i].state {
		case absent:
			if m.Unserialized || m.allCommitted(s, m.lower[i]) {
				n := *s
				n.messages[i].state = ready
				m.add(event{verb: evCommit, set: one(i)}, &n, true)
			}
		case waiting:
			n := *s
			n.messages[i].state = due
			m.add(event{verb: evDue, set: one(i)}, &n, true)
		}
	}
}

func (m *model) allCommitted(s *state, messages set) bool {
	for i := range m.Messages {
		if messages.has(i) && s.messages[i].state == absent {
			return false
		}
	}
	return true
}

func (m *model) operatorSteps(s *state) {
	for i := range m.Messages {
		if s.messages[i].state != parked {
			continue
		}
		if m.Requeue {
			n := *s
			n.messages[i] = message{state: due}
			if !m.RequeueHolds {
				n.messages[i].state = ready
			}
			m.add(event{verb: evRequeue, set: one(i)}, &n, false)
		}
		if m.Discard {
			n := *s
			n.messages[i] = message{state: discarded}
			m.add(event{verb: evDiscard, set: one(i)}, &n, false)
		}
	}
}

// brokerSteps let copies land that nobody waits for. A publisher that keeps keys in order keeps these in order, too.
func (m *model) brokerSteps(s *state) {
	for i := range m.Messages {
		if !s.late.has(i) || m.KeyOrdered && m.isBehind(s, i) {
			continue
		}
		n := *s
		n.late &^= one(i)
		m.accept(&n, i)
		m.add(event{verb: evLate, set: one(i)}, &n, false)
	}
}

// isBehind reports whether a late copy of i comes after one of its call that is still on its way.
func (m *model) isBehind(s *state, i int) bool {
	before := s.late
	for w := range former {
		if p := &s.sides[w].process; p.sends[i] == unknown {
			before |= p.in(flying)
		}
	}
	return m.lower[i]&before != 0
}

// leaseSteps let a lease run out: that of a dead process surely, that of a living one if it is slow.
func (m *model) leaseSteps(s *state, w who) {
	if s.sides[w].session != alive {
		return
	}
	lives := s.sides[w].process.phase != down
	if lives && s.left.lapses == 0 {
		return
	}
	n := *s
	n.sides[w].session = lapsed
	n.failed = true
	if lives {
		spend(&n.left.lapses)
	}
	m.add(event{verb: evLapse, who: w}, &n, !lives)
}
