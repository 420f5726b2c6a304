package outbox

import (
	"slices"
	"sync"
	"time"
)

// State is what a relay is doing, in the words that operators see.
type State string

// The states. A degraded relay goes on, and says in its [Snapshot] what it waits for.
const (
	StateIdle     State = "idle"     // Run has not been called
	StateStarting State = "starting" // no lanes were acquired yet
	StateReady    State = "ready"
	StateDegraded State = "degraded"
	StateDraining State = "draining" // the context has ended, calls in hand are finished
	StateStopped  State = "stopped"
	StateFailed   State = "failed" // Run has returned an error
)

// Snapshot is a relay at one moment. It holds no payloads, and its counters start with Run and never go back.
type Snapshot struct {
	State State `json:"state"`
	// StoreDown and PublisherDown say what a degraded relay waits for; each ends by its own side's next good answer. A
	// relay without lanes waits for no publisher.
	StoreDown     bool `json:"store_down"`
	PublisherDown bool `json:"publisher_down"`
	Lanes         int  `json:"lanes"` // held, those that drain included
	// Leads reports that lane 0 is among them: of all relays of a store one leads, and does what is done once for all.
	Leads    bool `json:"leads"`
	InFlight int  `json:"in_flight"` // messages claimed and not settled

	Delivered  uint64 `json:"delivered"` // accepted and settled
	Refused    uint64 `json:"refused"`   // hand-overs that were refused for the message's sake
	Deferred   uint64 `json:"deferred"`  // hand-overs that ended in an outage or without an answer
	Parked     uint64 `json:"parked"`
	ClaimsLost uint64 `json:"claims_lost"` // claims that were recovered by a peer meanwhile
	// Uncertain counts messages that the broker had accepted, of claims whose settle failed: they may arrive twice.
	Uncertain uint64 `json:"uncertain"`

	LastClass Class `json:"last_class,omitempty"` // of the latest hand-over that was not accepted
	// LastClaim is when the store last answered a claim, or gave lanes to a relay that had none. A relay that is ready,
	// holds lanes and is silent for long is stuck.
	LastClaim time.Time `json:"last_claim,omitzero"`

	// Policy is a digest of what decides the fate and the order of messages: Mode, Policy, Topics, MaxCrashes and Lease.
	// Relays of one store should have the same, in whatever process.
	Policy string `json:"policy"`
}

// Snapshot returns what the relay is doing now.
func (r *Relay) Snapshot() Snapshot { return r.gauge.read() }

// gauge keeps the snapshot of a relay across its sessions.
type gauge struct {
	mu   sync.Mutex
	now  Snapshot
	rest State // the state when nothing is down
	lost bool  // the latest round of acquiring failed
}

func newGauge(c RelayConfig) *gauge {
	return &gauge{rest: StateIdle, now: Snapshot{Policy: c.digest()}}
}

func (g *gauge) read() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.now
	s.State = g.rest
	s.StoreDown = s.StoreDown || g.lost
	s.PublisherDown = s.PublisherDown && s.Lanes > 0 // without lanes nothing is published, so nothing would clear it
	if g.rest == StateReady && (s.StoreDown || s.PublisherDown) {
		s.State = StateDegraded
	}
	return s
}

func (g *gauge) update(change func(s *Snapshot)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.now)
}

// life is the order of the states that a relay goes through; it never goes back.
var life = []State{StateIdle, StateStarting, StateReady, StateDraining, StateStopped, StateFailed}

func (g *gauge) enter(s State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Index(life, s) > slices.Index(life, g.rest) {
		g.rest = s
	}
}

// ended is the last state.
func (g *gauge) ended(err error) error {
	if err != nil {
		g.enter(StateFailed)
	} else {
		g.enter(StateStopped)
	}
	return err
}

// acquired takes note of a round of acquiring. Without lanes it is the only sign of life: no claim will follow.
func (g *gauge) acquired(held []Lease, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost = err != nil; !g.lost {
		g.now.hold(held)
		g.now.StoreDown = g.now.StoreDown && len(held) > 0
	}
}

// hold takes note of the lanes that are held from now on, in ascending order.
func (s *Snapshot) hold(held []Lease) {
	if s.Lanes == 0 && len(held) > 0 {
		s.LastClaim = time.Now()
	}
	s.Lanes, s.Leads = len(held), len(held) > 0 && held[0].Lane == 0
}

func (g *gauge) claimed(n int, err error) {
	g.update(func(s *Snapshot) {
		if s.StoreDown = err != nil; !s.StoreDown {
			s.LastClaim = time.Now()
			s.InFlight += n
		}
	})
}

// settled takes note of the end of a claim. A token that is gone at the first try was taken by a peer; at a later one
// by an earlier try, or by a peer.
func (g *gauge) settled(e CycleEvent) {
	g.update(func(s *Snapshot) {
		s.InFlight -= len(e.Outcomes)
		if isClaimLost(e.Err) && e.Tries == 1 {
			s.ClaimsLost++
		}
		for _, o := range e.Outcomes {
			s.count(o, e.Err == nil)
		}
	})
}

func (s *Snapshot) count(o Outcome, stored bool) {
	switch {
	case o.Verdict == Delivered && stored:
		s.Delivered++
	case o.Verdict == Delivered:
		s.Uncertain++
	case o.Verdict == Defer:
		s.Deferred++
	case o.Verdict != Release:
		s.Refused++
	}
	if stored && (o.Verdict == ParkKey || o.Verdict == ParkOne) {
		s.Parked++
	}
	if o.Class != "" {
		s.LastClass = o.Class
	}
}
