package outbox

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Overseer is a store that shows an operator who works on it, what fails in it, and what was done about that. What it
// reads is bounded whatever the store holds, and changes nothing.
type Overseer interface {
	// Sessions returns the sessions that live, those that have expired and were not recovered yet, and those that still
	// hold a lane or a claim, by relay and then by id.
	Sessions(ctx context.Context) ([]Session, error)
	// Failures groups the messages that some hand-over did not bring to their broker by what went wrong, the largest
	// groups first. What was requeued has begun anew, and is not among them until it fails again.
	Failures(ctx context.Context) (Failures, error)
	// Audit returns up to limit acts of operators, the latest first, those before before (0 starts at the latest), on
	// message or, if it is the zero UUID, on any and on scopes, such as a pause. It outlives the messages.
	Audit(ctx context.Context, message uuid.UUID, before int64, limit int) ([]AuditEntry, error)
}

// Session is one run of a relay as the store sees it.
type Session struct {
	ID       uuid.UUID
	Relay    string // its label
	Lanes    []int  // held, ascending
	InFlight int    // messages in its open claims
	Age      time.Duration
	// Expiry is how long it lives without another heartbeat; not above 0 once it has expired.
	Expiry  time.Duration
	Stopped bool // it is over: it claims nothing any more
}

// Alive reports that the session has neither stopped nor expired.
func (s Session) Alive() bool { return !s.Stopped && s.Expiry > 0 }

// Failures is what fails in a store.
type Failures struct {
	Groups []FailureGroup
	// Capped reports that there are more such messages than were looked at, so that the counts are lower bounds.
	Capped bool
}

// FailureGroup is messages that failed alike. Digits in errors count as alike, so that an offset or an address makes no
// group of its own.
type FailureGroup struct {
	Status   Status // parked, skipped, retrying or suspect
	Topic    string
	Type     string
	Class    Class  // empty, as the error, of a message that was in claims alone that ended without a settle
	Error    string // of Example, at most 200 bytes
	Messages int
	Oldest   time.Duration // since the oldest of them was enqueued
	Example  uuid.UUID     // the oldest of them
}

// AuditEntry is one act of an operator.
type AuditEntry struct {
	Number int64
	At     time.Time
	Deed   string // requeue, discard, skip, pause, resume, or a word of the store's for an act on neither
	Act
	Message uuid.UUID // zero for an act on something else
	Scope             // topic and key of the message, or what was paused or resumed
}
