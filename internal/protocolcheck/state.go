package protocolcheck

import (
	"cmp"
	"math/bits"
)

// state is everything that can differ from one moment to the next. It consists of bytes, so that a state is its own key
// and costs little.
type state struct {
	messages [maxMessages]message
	lanes    [maxLanes]who
	sides    [3]side // A, B, and a former session of one of them that has left something behind
	takeover takeover
	late     set // copies that may still land although nobody waits for them
	accepted set // the broker has them
	failed   bool
	left     budget
}

// who is a session, or the relay that it belongs to.
type who uint8

const (
	former who = 2
	nobody who = 3
)

// other is the other relay.
func (w who) other() who { return 1 - w }

// set is a set of messages or of lanes.
type set uint8

func one(i int) set { return 1 << i }

func (s set) has(i int) bool { return s&(1<<i) != 0 }

func (s set) single() bool { return bits.OnesCount8(uint8(s)) == 1 }

// message is a row of the table of messages.
type message struct {
	state    messageState
	held     bool // behind an earlier one that failed; only of use without Rules.HoldInClaim
	failures uint8
	crashes  uint8
}

type messageState uint8

const (
	absent    messageState = iota // not committed
	ready                         // never failed
	waiting                       // failed, and not due yet
	due                           // failed, and due again
	suspect                       // was in a recovered claim: due, alone
	parked                        // waits for an operator
	gone                          // delivered and deleted
	discarded                     // deleted by an operator
)

// exists reports whether there is a row that a settle may change.
func (m message) exists() bool { return m.state != absent && m.state != gone && m.state != discarded }

// side is a session with all that bears its name: its rows in the database, its statements on their way, its process.
type side struct {
	session sessionState
	hand    row // the claim whose token the process works with
	stray   row // a claim whose token no process knows any more
	claim   claimStatement
	settle  settleStatement
	voids   set // lanes of a void that was given up and repeated: it may still arrive
	process process
}

type sessionState uint8

const (
	none   sessionState = iota
	alive               // its lease has not run out
	lapsed              // its lease has run out, and nobody has recovered it
	ended               // stamped stopped
)

// row is a row of the table of claims; one that names nothing does not exist.
type row struct {
	names set
	sent  set // handed to the broker under this claim, which only an onlooker knows
}

// claimStatement is a claim on its way.
type claimStatement struct {
	stage statementStage
	knows knows
	lanes set // asked for, under an epoch that has not passed
	read  set // what the statement's snapshot offers
}

type statementStage uint8

const (
	idle     statementStage = iota
	sent                    // the database has not begun
	snapshot                // the database has taken the statement's snapshot
)

// knows is what the process of a statement knows of it.
type knows uint8

const (
	forgotten knows = iota
	token           // gave up waiting, and still has the token
	waits           // waits for the answer
)

// settleStatement is a settle on its way.
type settleStatement struct {
	stage   statementStage
	waits   bool
	claim   claimRef
	found   bool // the token was there when the statement looked; only of use without Rules.TokenFirst
	outcome outcomes
}

// claimRef says which claim has the token of a settle.
type claimRef uint8

const (
	lost claimRef = iota
	inHand
	astray
)

// outcomes are the verdicts on a claim; a message in none of them is released.
type outcomes struct {
	delivered, retried, deferred, parked set
}

func (o outcomes) counted() set { return o.delivered | o.retried | o.deferred | o.parked }

// process is the memory of a relay.
type process struct {
	phase    phase
	stopping bool
	grip     set // lanes that it holds and claims, each under its newest epoch
	draining set // lanes that it holds and does not claim
	looked   set // lanes that the give-back found unclaimed; only of use without Rules.GiveBackLater
	voiding  voidStage
	sends    [maxMessages]sendState
}

type phase uint8

const (
	down phase = iota
	resting
	claiming
	unclaimed  // the claim had no answer
	claimed    // the claim has been answered
	publishing // within Publisher.Publish
	settling
	unsettled // the settle had no answer
)

// voidStage is of use without Rules.VoidLater only.
type voidStage uint8

const (
	voidUnsent voidStage = iota
	voidFoundNone
	voidFound
)

// sendState is what the process knows of a message of its claim.
type sendState uint8

const (
	unclaimedSend sendState = iota
	kept                    // claimed, not handed over
	flying                  // handed over
	held                    // the broker has it, the confirm is under way
	confirmed
	refused
	unknown
	fallout // refused only because an earlier one of its key was
	doomed  // to be parked without being handed over
)

// takeover is a transaction that recovers a dead session and has not committed.
type takeover struct {
	running           bool
	by, dead          who
	sawHand, sawStray bool
}

// budget is what is left of a scenario's bounds.
type budget struct {
	lapses, crashes, stops, breaks, refusals, confirms, answers, giveBacks uint8
}

// spend takes one from n, unless n is Always.
func spend(n *uint8) {
	if *n != Always {
		*n--
	}
}

// owned returns the lanes of w.
func (s *state) owned(w who) set {
	var lanes set
	for l, owner := range s.lanes {
		if owner == w {
			lanes |= one(l)
		}
	}
	return lanes
}

// named returns the messages that the claims of w name.
func (d *side) named() set { return d.hand.names | d.stray.names }

// isEmpty reports whether nothing of session w is left in the database or on its way there.
func (s *state) isEmpty(w who) bool {
	d := &s.sides[w]
	buried := s.takeover.running && s.takeover.dead == w
	return d.named() == 0 && d.claim.stage == idle && d.settle.stage == idle && s.owned(w) == 0 && !buried
}

// mirror is the same state with the relays' names exchanged.
func (s *state) mirror() state {
	m := *s
	m.sides[0], m.sides[1] = s.sides[1], s.sides[0]
	for l, owner := range s.lanes {
		if owner < former {
			m.lanes[l] = owner.other()
		}
	}
	if s.takeover.running {
		m.takeover.by = s.takeover.by.other()
		if s.takeover.dead < former {
			m.takeover.dead = s.takeover.dead.other()
		}
	}
	return m
}

// canonical picks one of a state and its mirror image.
func (m *model) canonical(s *state) state {
	a, b := &s.sides[0], &s.sides[1]
	c := cmp.Or(
		cmp.Compare(a.process.phase, b.process.phase), cmp.Compare(a.process.grip, b.process.grip),
		cmp.Compare(a.session, b.session), cmp.Compare(a.hand.names, b.hand.names),
		cmp.Compare(a.claim.stage, b.claim.stage), cmp.Compare(a.claim.lanes, b.claim.lanes),
		cmp.Compare(a.settle.stage, b.settle.stage), cmp.Compare(a.stray.names, b.stray.names),
		cmp.Compare(s.owned(0), s.owned(1)),
	)
	for i := range a.process.sends {
		c = cmp.Or(c, cmp.Compare(a.process.sends[i], b.process.sends[i]))
	}
	if c < 0 {
		return s.mirror()
	}
	return *s
}
