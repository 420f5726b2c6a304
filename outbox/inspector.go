package outbox

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// Inspector is a store that shows its messages to an operator and lets one act on those that are set aside. What an
// operator does is recorded with who did it and why.
type Inspector interface {
	// Find returns up to limit messages that match f, by number, those behind after (0 starts at the first). Pages are
	// stable: a message that stays is neither skipped nor shown twice, whatever comes and goes.
	Find(ctx context.Context, f Filter, after int64, limit int) ([]Record, error)
	// Requeue makes parked messages due at once under their old number, so that each comes before all later ones of its
	// key; failures, attempts and crashes start again at zero. Discard removes parked messages. Skip lets the keys of
	// parked messages go on without them, and keeps them. Each returns how many messages it changed: others of ids are
	// not parked (any more). A message that a broker may have in spite of its failures stays marked as uncertain.
	Requeue(ctx context.Context, act Act, ids ...uuid.UUID) (int, error)
	Discard(ctx context.Context, act Act, ids ...uuid.UUID) (int, error)
	Skip(ctx context.Context, act Act, ids ...uuid.UUID) (int, error)
}

// Act says who acts and why. Both are required, at most 255 bytes of text each.
type Act struct {
	By     string
	Reason string
}

// Check returns a [*FieldError] that names what is wrong with a. It is for authors of stores: every Inspector asks it
// before it changes anything.
func (a Act) Check() error {
	switch {
	case a.By == "":
		return &FieldError{Field: "By", Code: CodeMissing, Hint: "say who acts"}
	case a.Reason == "":
		return &FieldError{Field: "Reason", Code: CodeMissing, Hint: "say why"}
	}
	return cmp.Or(checkText("By", a.By, MaxName), checkText("Reason", a.Reason, MaxName))
}

// Status is where a stored message stands, in the words that operators see.
type Status string

// The statuses.
const (
	StatusPending   Status = "pending"
	StatusScheduled Status = "scheduled" // waits for AvailableAt
	StatusInFlight  Status = "in_flight" // in an open claim
	StatusHeld      Status = "held"      // behind an earlier message of its key that waits or is parked
	StatusRetrying  Status = "retrying"
	StatusSuspect   Status = "suspect" // was in a claim that ended without a settle
	StatusParked    Status = "parked"  // holds its key
	StatusSkipped   Status = "skipped" // parked, its key goes on
)

// Filter narrows what is shown; its zero value matches everything, and each field that is set must match.
type Filter struct {
	Status    Status
	Topic     string
	Key       string
	Type      string
	Tenant    string
	Class     Class
	Error     string // a part of the last error
	OlderThan time.Duration
}

// Record is a stored message with what became of it so far.
type Record struct {
	*Message
	Number    int64 // its place in the order of its lane
	Lane      int
	Status    Status
	Attempts  int
	Failures  int
	Crashes   int
	Uncertain bool // some hand-over ended without an answer: a broker may hold a copy
	DueIn     time.Duration
	LastClass Class
	LastError string
}
