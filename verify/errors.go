package verify

import (
	"errors"
	"fmt"
)

// What is wrong with a history that cannot be judged.
var (
	// ErrMalformed: a line is no JSON object with fields of the right types.
	ErrMalformed = errors.New("verify: malformed record")
	// ErrContradiction: two records cannot both be true.
	ErrContradiction = errors.New("verify: records contradict one another")
)

// RecordError refuses a record that says too little, or what cannot be.
type RecordError struct {
	Kind  Kind
	Field string // as in JSON
	Rule  string
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("verify: %s record: %s: %s", e.Kind, e.Field, e.Rule)
}

// LineError is a line of a history that cannot be used, counted from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }
