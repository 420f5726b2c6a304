package protocolcheck

import "strings"

// Invariant is something that must hold; several are a set.
type Invariant uint8

// The invariants.
const (
	// NeverStuck: from every state, without another fault and without the relays that died, every committed message can
	// still be delivered, parked, or held behind a parked one of its key.
	NeverStuck Invariant = 1 << iota
	// AcceptedFirst: a message is deleted as delivered only after the broker has accepted it.
	AcceptedFirst
	// KeyOrder: the broker's first acceptances of a key's messages come in the order of their numbers.
	KeyOrder
	// OneClaim: no message is named by two claims.
	OneClaim
	// AttemptCounted: a message that was handed over leaves its claim as delivered or with an attempt counted.
	AttemptCounted
	// OwnSettle: no settle changes a message of a lane that another session holds.
	OwnSettle
	// OnceUnlessFault: no message is accepted twice unless a process died, a lease ran out or a confirm was lost.
	OnceUnlessFault

	// ReadsAll: a claim that starts at its cursor misses nothing that its snapshot offers. Only [CheckReading] watches it.
	ReadsAll

	// Everything is all of them.
	Everything Invariant = 1<<iota - 1
)

// String names the invariants in words.
func (v Invariant) String() string {
	if v == Everything {
		return "everything"
	}
	var names []string
	for i, name := range [...]string{
		"never stuck", "deleted only if accepted", "order of a key", "one claim per message", "no attempt lost",
		"no settle of another's message", "accepted once unless something failed", "a claim reads all that there is",
	} {
		if v&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// accept appends message i to the broker's log.
func (m *model) accept(n *state, i int) {
	if n.accepted.has(i) {
		if !n.failed {
			m.broken |= OnceUnlessFault
		}
		return
	}
	n.accepted |= one(i)
	if m.higher[i]&n.accepted != 0 && n.messages[i].state != discarded {
		m.broken |= KeyOrder
	}
}

// checkInsert checks a claim that is about to be recorded: no other names its messages, and no attempt on one of them
// is still to be counted.
func (m *model) checkInsert(n *state, names set) {
	for w := range n.sides {
		d := &n.sides[w]
		if d.named()&names != 0 {
			m.broken |= OneClaim
		}
		if (d.hand.sent|d.stray.sent)&names != 0 {
			m.broken |= AttemptCounted
		}
	}
}

// checkCounted checks that what was handed over under r has been counted.
func (m *model) checkCounted(r row, counted set) {
	if r.sent&^counted != 0 {
		m.broken |= AttemptCounted
	}
}

// checkTouch checks that w may change message i.
func (m *model) checkTouch(n *state, w who, i int) {
	if owner := n.lanes[m.Messages[i].Lane]; owner != w && owner != nobody {
		m.broken |= OwnSettle
	}
}

// isSettled reports whether every committed message has reached its end, or waits behind a parked one of its key for an
// operator. What an operator does then leads to states that have to be settled in turn.
func (m *model) isSettled(s *state) bool {
	var aside set
	for i := range m.Messages {
		if s.messages[i].state == parked {
			aside |= one(i)
		}
	}
	for i := range m.Messages {
		if v := s.messages[i]; v.exists() && v.state != parked && m.lower[i]&aside == 0 {
			return false
		}
	}
	return true
}
