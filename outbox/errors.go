package outbox

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

var (
	// ErrNoTransaction: the context carries no transaction of this store. Enqueue inside Transaction or InTransaction,
	// and pass the context that they give.
	ErrNoTransaction = errors.New("outbox: no transaction in this context: enqueue inside the store's transaction")
	// ErrTransactionDone: the transaction has been committed or rolled back; nothing was stored.
	ErrTransactionDone = errors.New("outbox: transaction already finished: enqueue before it commits")
	// ErrUnknownTransport: the relay has no publisher of the message's Transport. The message waits.
	ErrUnknownTransport = errors.New("outbox: no publisher for this transport: add it to the relay's Mux")
	// ErrUnregistered: nobody has said how events of this Go type become messages.
	ErrUnregistered = errors.New("outbox: event type is not registered: define it in the Registry")
	// ErrClaimLost: the claim's token is gone, because the relay was taken for dead and its claims were recovered.
	ErrClaimLost = errors.New("outbox: claim lost")
	// ErrSessionEnded: the session expired or was stopped. It never lives again; its relay draws a new one.
	ErrSessionEnded = errors.New("outbox: session ended")
)

// Code says what is wrong with a field, in a form that programs can compare.
type Code string

// The codes of a [FieldError].
const (
	CodeMissing     Code = "missing"
	CodeTooLong     Code = "too_long"
	CodeOutOfRange  Code = "out_of_range"
	CodeNotUTF8     Code = "not_utf8"
	CodeControl     Code = "control_character"
	CodeReserved    Code = "reserved"
	CodeDuplicateID Code = "duplicate_id"
	CodeConflict    Code = "conflict"
	CodeMalformed   Code = "malformed"
)

// FieldError is a message or a configuration that was refused before anything was stored or started.
type FieldError struct {
	Field string // the Go field, e.g. Topic or Headers[2].Value
	Code  Code
	Limit int // the bound, where there is one: bytes for text, else the nearest allowed value
	Got   int // what was given, in the same unit
	Hint  string
}

func (e *FieldError) Error() string {
	switch e.Code {
	case CodeTooLong:
		return fmt.Sprintf("outbox: %s has %d bytes, at most %d are allowed%s", e.Field, e.Got, e.Limit, e.hint())
	case CodeOutOfRange:
		return fmt.Sprintf("outbox: %s is %d, the bound is %d%s", e.Field, e.Got, e.Limit, e.hint())
	default:
		return fmt.Sprintf("outbox: %s: %s%s", e.Field, e.Code, e.hint())
	}
}

func (e *FieldError) hint() string {
	if e.Hint == "" {
		return ""
	}
	return ": " + e.Hint
}

// ExhaustedError ends a relay whose policy for the topic is [Stop]. The message is still stored, and the relay finds
// it again after a restart.
type ExhaustedError struct {
	ID       uuid.UUID
	Topic    string
	Failures int
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("outbox: message %s of topic %s failed %d times and its policy is Stop: %v",
		e.ID, e.Topic, e.Failures, e.Err)
}

func (e *ExhaustedError) Unwrap() error { return e.Err }
