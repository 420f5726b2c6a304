package protocolcheck

const (
	evSendClaim  verb = "{who} claims under token {token}"
	evSnapshot   verb = "claim {token} of {who} takes its snapshot and reads {set}"
	evClaim      verb = "claim {token} of {who} commits and names {set}"
	evNoClaim    verb = "claim {token} of {who} gets nothing"
	evLoseClaim  verb = "{who} gives up waiting for the answer to claim {token}"
	evVoid       verb = "{who} voids claim {token}"
	evVoidLost   verb = "{who} voids claim {token}, has no answer and will repeat it"
	evVoidRepeat verb = "{who} gives up waiting for the void of {token}, which has not arrived, and will repeat it"
	evVoidLook   verb = "{who} starts the one statement that raises the epochs and deletes the claim {token} that it sees"
	evVoidLate   verb = "an earlier void of {who} arrives and raises the epochs of {lanes}"
)

// row returns the claim that ref stands for.
func (d *side) row(ref claimRef) *row {
	if ref == astray {
		return &d.stray
	}
	return &d.hand
}

// drop deletes a claim, and with it the token that a settle on its way has.
func (d *side) drop(ref claimRef) {
	*d.row(ref) = row{}
	if d.settle.claim == ref {
		d.settle.claim = lost
	}
}

// forget leaves the claim in hand to itself.
func (d *side) forget() {
	if d.hand.names != 0 {
		d.stray = row{names: d.stray.names | d.hand.names, sent: d.stray.sent | d.hand.sent}
		if d.settle.claim == inHand {
			d.settle.claim = astray
		}
	}
	d.hand = row{}
	d.claim.knows = forgotten
	d.settle.waits = false
}

// sendClaim is not worth a step when there is nothing to claim.
func (m *model) sendClaim(s *state, w who) {
	d := &s.sides[w]
	if d.session != alive || d.process.stopping || d.process.grip == 0 || d.claim.stage != idle || d.hand.names != 0 {
		return
	}
	n := *s
	n.sides[w].process.phase = claiming
	n.sides[w].claim = claimStatement{stage: sent, knows: waits, lanes: d.process.grip}
	if normal, lonely := m.pick(s, w, d.process.grip); normal|lonely != 0 {
		m.add(event{verb: evSendClaim, who: w}, &n, true)
	}
}

// pick returns what a claim of the lanes offers now: everything that is due, or one suspect alone.
func (m *model) pick(s *state, w who, lanes set) (normal, lonely set) {
	if m.CompareLease && s.sides[w].session != alive {
		return 0, 0
	}
	if m.CompareOwner {
		lanes &= s.owned(w)
	}
	in := m.messagesIn(lanes)
	if m.SkipClaimed {
		in &^= s.sides[0].named() | s.sides[1].named() | s.sides[former].named()
	}
	for i := range m.Messages {
		if !in.has(i) || m.isHeld(s, i) {
			continue
		}
		switch s.messages[i].state {
		case ready, due:
			normal |= one(i)
		case suspect:
			if lonely == 0 {
				lonely = one(i)
			}
		}
	}
	return normal, lonely
}

// bound cuts what is beyond the limit of a claim.
func (m *model) bound(normal set) set {
	for i, n := 0, 0; i < maxMessages; i++ {
		if normal.has(i) {
			n++
		}
		if n == m.Limit {
			return normal & (one(i+1) - 1)
		}
	}
	return normal
}

// isHeld reports whether an earlier message of the key of i blocks.
func (m *model) isHeld(s *state, i int) bool {
	if !m.HoldInClaim && !s.messages[i].held {
		return false
	}
	for j := range i {
		if !m.lower[i].has(j) {
			continue
		}
		switch s.messages[j].state {
		case waiting, due, parked:
			if m.HoldBehindRetry {
				return true
			}
		case suspect:
			if m.HoldSuspects {
				return true
			}
		case ready:
			if m.SkipClaimed && (s.sides[0].named() | s.sides[1].named() | s.sides[former].named()).has(j) {
				return true
			}
		}
	}
	return false
}

// claimStatementSteps are what the database does with a claim on its way. When nobody waits for it any more it may
// never arrive.
func (m *model) claimStatementSteps(s *state, w who) {
	c := &s.sides[w].claim
	switch c.stage {
	case sent:
		m.takeSnapshot(s, w)
	case snapshot:
		m.commitClaim(s, w)
	}
	if v := s.sides[w].voids; v != 0 && !m.locked(s, w) {
		n := *s
		n.sides[w].voids = 0
		m.raiseOwn(&n, w, v)
		m.add(event{verb: evVoidLate, who: w, set: v}, &n, false)
	}
}

func (m *model) takeSnapshot(s *state, w who) {
	c := &s.sides[w].claim
	normal, lonely := m.pick(s, w, c.lanes)
	if normal|lonely == 0 {
		m.endClaim(s, w, 0)
		return
	}
	reads := []set{m.bound(normal), lonely}
	if !m.BoundStops && normal != reads[0] {
		reads = append(reads, normal&^reads[0])
	}
	for _, read := range reads {
		if read == 0 {
			continue
		}
		n := *s
		n.sides[w].claim.stage, n.sides[w].claim.read = snapshot, read
		m.add(event{verb: evSnapshot, who: w, set: read}, &n, c.knows == waits)
	}
}

// commitClaim judges the lanes as they are now; without the lock, the snapshot has judged them.
func (m *model) commitClaim(s *state, w who) {
	c := &s.sides[w].claim
	names := c.read
	if m.LockLanes {
		lanes := c.lanes
		if m.locked(s, w) && lanes != 0 {
			return // waits for the takeover
		}
		if m.CompareOwner {
			lanes &= s.owned(w)
		}
		names &= m.messagesIn(lanes)
	}
	m.endClaim(s, w, names)
}

// endClaim records names, which may be none, and answers.
func (m *model) endClaim(s *state, w who, names set) {
	n := *s
	d := &n.sides[w]
	m.checkInsert(&n, names)
	e := event{verb: evClaim, who: w, set: names}
	switch {
	case names == 0:
		e.verb = evNoClaim
	case d.claim.knows == forgotten:
		d.stray.names |= names
	default:
		d.hand = row{names: names}
	}
	if d.claim.knows == waits {
		d.process.phase = resting
		if names != 0 {
			d.process.phase = claimed
		}
		for i := range m.Messages {
			if names.has(i) {
				d.process.sends[i] = kept
			}
		}
	}
	d.claim = claimStatement{}
	m.add(e, &n, s.sides[w].claim.knows == waits)
}

// loseClaim gives up waiting; the statement may commit before or after, or never get anything.
func (m *model) loseClaim(s *state, w who) {
	if s.left.answers == 0 {
		return
	}
	n := *s
	spend(&n.left.answers)
	d := &n.sides[w]
	d.process.phase, d.claim.knows = unclaimed, token
	if !m.VoidUnanswered {
		d.process.phase = resting
		d.forget()
	}
	m.add(event{verb: evLoseClaim, who: w}, &n, false)
}

// void raises the epochs of the session's lanes, which waits for a claim that holds them, then deletes the claim.
func (m *model) void(s *state, w who) {
	d := &s.sides[w]
	if m.locked(s, w) {
		return
	}
	if !m.VoidLater && d.process.voiding == voidUnsent {
		n := *s
		n.sides[w].process.voiding = voidFoundNone
		if d.hand.names != 0 {
			n.sides[w].process.voiding = voidFound
		}
		m.add(event{verb: evVoidLook, who: w}, &n, true)
		return
	}
	n := *s
	m.applyVoid(&n, w)
	after := n
	after.sides[w].process.phase = resting
	after.sides[w].forget()
	m.add(event{verb: evVoid, who: w}, &after, true)
	m.loseVoid(s, &n, w)
}

// loseVoid gives up waiting for a void, which has taken effect or is still to arrive; the relay repeats it.
func (m *model) loseVoid(s, applied *state, w who) {
	if s.left.answers == 0 || !m.VoidLater {
		return
	}
	spend(&applied.left.answers)
	m.add(event{verb: evVoidLost, who: w}, applied, false)
	n := *s
	spend(&n.left.answers)
	n.sides[w].voids = s.owned(w)
	m.add(event{verb: evVoidRepeat, who: w}, &n, false)
}

func (m *model) applyVoid(n *state, w who) {
	d := &n.sides[w]
	if m.VoidEpochs {
		m.raiseOwn(n, w, n.owned(w))
	}
	if m.VoidLater || d.process.voiding == voidFound {
		m.checkCounted(d.hand, 0)
		d.drop(inHand)
	}
	d.process.voiding = voidUnsent
}

// raiseOwn raises the epochs of those of lanes that w owns.
func (m *model) raiseOwn(n *state, w who, lanes set) {
	for l := range m.Lanes {
		if lanes.has(l) && n.lanes[l] == w {
			m.raise(n, l)
		}
	}
}
