package protocolcheck

const (
	evSendSettle verb = "{who} settles claim {token}: {outcomes}"
	evSettle     verb = "the settle of {who} commits: {outcomes}"
	evSettleLook verb = "the settle of {who} looks whether its token is there"
	evSettleLost verb = "the settle of {who} finds its token gone and changes nothing"
	evLoseSettle verb = "{who} gives up waiting for the answer to its settle"
	evRepeat     verb = "{who} repeats the settle: {outcomes}"
	evRepeatLost verb = "{who} repeats the settle and hears that the token is gone"
)

func (m *model) finishPublish(s *state, w who) {
	n := *s
	m.sendSettle(&n, w)
	m.add(event{verb: evSendSettle, who: w, outcomes: n.sides[w].settle.outcome}, &n, true)
}

// sendSettle needs no fresh lease: the token decides.
func (m *model) sendSettle(n *state, w who) {
	d := &n.sides[w]
	d.process.phase = settling
	d.settle = settleStatement{stage: sent, waits: true, outcome: m.judge(&d.process)}
	if d.hand.names != 0 {
		d.settle.claim = inHand
	}
}

func (m *model) judge(p *process) outcomes {
	o := outcomes{
		delivered: p.in(confirmed), retried: p.in(refused), deferred: p.in(unknown), parked: p.in(doomed),
	}
	if !m.CountUnknowns {
		o.deferred = 0
	}
	if !m.ConfirmOnly {
		o.delivered |= p.in(unknown)
		o.deferred = 0
	}
	return o
}

// settleStatementSteps are what the database does with a settle on its way. When nobody waits for it any more it may
// never arrive.
func (m *model) settleStatementSteps(s *state, w who) {
	t := &s.sides[w].settle
	switch {
	case t.stage == idle:
	case t.stage == sent && !m.TokenFirst:
		n := *s
		n.sides[w].settle.stage, n.sides[w].settle.found = snapshot, t.claim != lost
		m.add(event{verb: evSettleLook, who: w}, &n, t.waits)
	default:
		n := *s
		e := event{verb: evSettle, who: w, outcomes: t.outcome}
		if !m.apply(&n, w, *t) {
			e.verb = evSettleLost
		}
		if t.waits {
			n.sides[w].finish()
		}
		n.sides[w].settle = settleStatement{}
		m.add(e, &n, t.waits)
	}
}

// finish ends the work on a claim.
func (d *side) finish() {
	d.process.phase = resting
	d.process.sends = [maxMessages]sendState{}
}

// apply takes the token and writes the outcomes, or reports that the token is gone.
func (m *model) apply(n *state, w who, t settleStatement) bool {
	found := t.claim != lost
	if !m.TokenFirst {
		found = t.found
	}
	if m.Token && !found {
		return false
	}
	for i := range m.Messages {
		if t.outcome.counted().has(i) && n.messages[i].exists() {
			m.checkTouch(n, w, i)
			m.write(n, i, t.outcome)
		}
	}
	if t.claim != lost {
		d := &n.sides[w]
		m.checkCounted(*d.row(t.claim), t.outcome.counted())
		d.drop(t.claim)
	}
	return true
}

func (m *model) write(n *state, i int, o outcomes) {
	v := &n.messages[i]
	switch {
	case o.delivered.has(i):
		if !n.accepted.has(i) {
			m.broken |= AcceptedFirst
		}
		v.state = gone
		return
	case o.parked.has(i):
		v.state = parked
	case o.deferred.has(i):
		v.state = waiting
	case v.failures+1 >= m.MaxFailures:
		v.state = parked
	default:
		v.state, v.failures = waiting, v.failures+1
	}
	m.markHeld(n, i)
}

// markHeld is what a failure of message i does where the claim does not look for itself.
func (m *model) markHeld(n *state, i int) {
	for j := range m.Messages {
		if !m.HoldInClaim && m.higher[i].has(j) && n.messages[j].exists() {
			n.messages[j].held = true
		}
	}
}

// loseSettle gives up waiting; the statement may still take effect.
func (m *model) loseSettle(s *state, w who) {
	if s.left.answers == 0 {
		return
	}
	n := *s
	spend(&n.left.answers)
	d := &n.sides[w]
	d.process.phase, d.settle.waits = unsettled, false
	if !m.RepeatSettle {
		d.finish()
		d.forget()
	}
	m.add(event{verb: evLoseSettle, who: w}, &n, false)
}

// repeatSettle has the token and the outcomes of the first one, which makes it harmless.
func (m *model) repeatSettle(s *state, w who) {
	n := *s
	d := &n.sides[w]
	t := settleStatement{outcome: m.judge(&d.process)}
	if d.hand.names != 0 {
		t.claim, t.found = inHand, true
	}
	e := event{verb: evRepeat, who: w, outcomes: t.outcome}
	if !m.apply(&n, w, t) {
		e.verb = evRepeatLost
	}
	n.sides[w].finish()
	m.add(e, &n, true)
}
