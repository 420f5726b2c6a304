package outbox

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// Inspector is a store that shows its messages to an operator and lets one act on those that are set aside. The acts
// return how many messages they changed: others of ids are in no state for it (any more), and stay as they are. Each
// message that was changed is recorded with who did what and why, and relays go on with its key at once.
type Inspector interface {
	// Find returns up to limit messages that match f, by number, those behind after (0 starts at the first). Pages are
	// stable: a message that stays is neither skipped nor shown twice, whatever comes and goes.
	Find(ctx context.Context, f Filter, after int64, limit int) ([]Record, error)

	// Requeue makes messages that are parked or skipped due at once, under their old number: each comes before all later
	// ones of its key that are still stored, and holds them until it is settled. Its attempts, failures and crashes start
	// again at zero; that a broker may have it in spite of them stays marked as uncertain.
	Requeue(ctx context.Context, act Act, ids ...uuid.UUID) (int, error)
	// Discard removes messages that are parked or skipped. A copy whose outcome is unknown may arrive all the same.
	Discard(ctx context.Context, act Act, ids ...uuid.UUID) (int, error)
	// Skip lets the keys of parked messages go on without them, and keeps the messages as skipped.
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

// The statuses. A message has the first one that fits.
const (
	StatusParked    Status = "parked"    // set aside, holds its key
	StatusSkipped   Status = "skipped"   // set aside, its key goes on
	StatusInFlight  Status = "in_flight" // in an open claim
	StatusScheduled Status = "scheduled" // waits for AvailableAt
	StatusPaused    Status = "paused"    // see Pauser, holds its key
	StatusRetrying  Status = "retrying"  // waits for its next attempt, holds its key
	StatusSuspect   Status = "suspect"   // was in a claim that ended without a settle, holds its key
	StatusHeld      Status = "held"      // behind a message that holds its key
	StatusPending   Status = "pending"
)

// Filter narrows what is shown; its zero value matches everything, and each field that is set must match.
type Filter struct {
	ID        uuid.UUID
	Status    Status
	Topic     string
	Key       string
	Type      string
	Tenant    string
	Class     Class
	Error     string // a part of the last error
	OlderThan time.Duration
	// WithoutPayload matches all the same, and leaves the payloads of records out: a page of them may be large.
	WithoutPayload bool
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
	Size      int // of the payload in bytes, also when the filter left it out
}
