package protocolcheck

// model generates the steps of a scenario. The steps of one state are made by one call of next.
type model struct {
	Scenario
	lower, higher [maxMessages]set // of the same key
	inLane        [maxLanes]set

	broken Invariant // by the step that is being made
	steps  []step[state]
}

func newModel(c Scenario) *model {
	m := &model{Scenario: c.withDefaults()}
	for i, v := range c.Messages {
		m.inLane[v.Lane] |= one(i)
		for j, w := range c.Messages {
			switch {
			case v.Key == 0 || v.Key != w.Key:
			case j < i:
				m.lower[i] |= one(j)
			case j > i:
				m.higher[i] |= one(j)
			}
		}
	}
	return m
}

// initial has nothing committed, both relays started, and no lane taken.
func (m *model) initial() state {
	s := state{left: budget{
		lapses: m.Lapses, crashes: m.Crashes, stops: m.Stops, breaks: m.Breaks, refusals: m.Refusals,
		confirms: m.LostConfirms, answers: m.LostAnswers, giveBacks: m.GiveBacks,
	}}
	for l := range s.lanes {
		s.lanes[l] = nobody
	}
	for w := range former {
		s.sides[w].session, s.sides[w].process.phase = alive, resting
	}
	return s
}

// next returns all steps from s. The slice is valid until the next call.
func (m *model) next(s *state) []step[state] {
	m.steps = m.steps[:0]
	m.writerSteps(s)
	m.operatorSteps(s)
	m.brokerSteps(s)
	for w := range former + 1 {
		m.leaseSteps(s, w)
		m.claimStatementSteps(s, w)
		m.settleStatementSteps(s, w)
	}
	for w := range former {
		m.laneSteps(s, w)
		m.processSteps(s, w)
		m.workerSteps(s, w)
	}
	return m.steps
}

// add finishes a step that changed a copy of the state into n.
func (m *model) add(e event, n *state, heals bool) {
	m.normalize(n)
	m.steps = append(m.steps, step[state]{event: e, to: *n, broken: m.broken, heals: heals})
	m.broken = 0
}

// workerSteps are those of the one worker of a relay.
func (m *model) workerSteps(s *state, w who) {
	switch s.sides[w].process.phase {
	case resting:
		m.sendClaim(s, w)
	case claiming:
		m.loseClaim(s, w)
	case unclaimed:
		m.void(s, w)
	case claimed:
		m.startPublish(s, w)
	case publishing:
		m.publishSteps(s, w)
	case settling:
		m.loseSettle(s, w)
	case unsettled:
		m.repeatSettle(s, w)
	}
}

// normalize forgets what no later step can depend on, so that equal situations are equal states.
func (m *model) normalize(n *state) {
	if n.failed {
		n.late &^= n.accepted
	}
	for i := range n.messages {
		if v := &n.messages[i]; !v.exists() || v.state == parked {
			*v = message{state: v.state}
		}
	}
	for w := range n.sides {
		m.normalizeSide(n, who(w))
	}
}

func (m *model) normalizeSide(n *state, w who) {
	d := &n.sides[w]
	if c := &d.claim; m.LockLanes && m.CompareEpochs {
		if c.stage == snapshot {
			c.read &= m.messagesIn(c.lanes)
		}
		if c.lanes == 0 && c.knows != waits {
			*c = claimStatement{}
		}
	}
	if t := &d.settle; m.Token && m.TokenFirst && !t.waits && t.claim == lost {
		*t = settleStatement{}
	}
	if d.session == ended || d.session == none {
		d.voids = 0
	}
	if w == former && n.isEmpty(w) {
		*d = side{}
	}
}

// messagesIn returns the messages of lanes.
func (m *model) messagesIn(lanes set) set {
	var messages set
	for l := range m.Lanes {
		if lanes.has(l) {
			messages |= m.inLane[l]
		}
	}
	return messages
}
