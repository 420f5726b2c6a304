package outbox

import (
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Observer is told what a relay does, for counters and histograms; how the relay stands is in its [Snapshot]. A
// function that is nil is not called.
//
// Functions are called by several workers at once, under no lock, and when the caller has nothing in hand: what it had
// claimed is settled. So a slow one delays the worker's next claim, and can make a stop miss its deadline, but it
// holds no message, ages no lease and changes no order. One that panics is logged, and from then on the relay goes
// unobserved. What an event refers to belongs to the relay: read it during the call, and neither change nor keep it.
type Observer struct {
	// Cycle follows each claim and what came of it.
	Cycle func(CycleEvent)
	// Breaker follows a cycle that showed the publisher to be down, or back.
	Breaker func(BreakerEvent)
	// LeaseLost follows the end of a session that was taken for dead while it held lanes; a new one starts.
	LeaseLost func(LeaseEvent)
}

// CycleEvent is a claim seen through: claim, publish, settle.
type CycleEvent struct {
	Worker   int
	Limit    int           // messages asked for
	Waited   time.Duration // from the first news of a commit since the last claim to this one; 0 without news
	Claiming time.Duration // until the store had answered
	Calls    []Call        // of Publish, one after another
	Settling time.Duration // until the store had answered, all tries together
	Tries    int
	Took     time.Duration // the whole cycle
	// Outcomes has one for each message of the claim, as the publisher's results were judged; none if nothing was due.
	Outcomes []Outcome
	// Err is why the store holds no outcomes. Without any, the claim had no answer and is about to be undone. Else those
	// that were delivered are uncertain, because they may be published again: there was no answer until the relay had to
	// stop, or it was [ErrClaimLost], which after several tries may also mean that an earlier one was carried out.
	Err error
}

// Call is one call of Publish.
type Call struct {
	Messages int
	Took     time.Duration
}

// BreakerEvent is a change of the publisher's standing.
type BreakerEvent struct {
	Down bool
	Err  error // of a message, when down
}

// LeaseEvent is the loss of lanes.
type LeaseEvent struct {
	Lanes int
}

// observer calls the functions of an Observer until one of them panics.
type observer struct {
	Observer
	log    *slog.Logger
	broken atomic.Bool
}

func newObserver(c RelayConfig) *observer {
	return &observer{Observer: c.Observer, log: c.Logger.With("relay", c.ID)}
}

// tell hands event to fn, which may be nil.
func tell[E any](o *observer, fn func(E), event E) {
	if fn == nil || o.broken.Load() {
		return
	}
	defer o.guard()
	fn(event)
}

// guard keeps a panic of an observer from ending the process, and with it the work of all other workers.
func (o *observer) guard() {
	if p := recover(); p != nil {
		o.broken.Store(true)
		o.log.Error("outbox: observer panicked and is called no more", "panic", p, "stack", string(debug.Stack()))
	}
}
