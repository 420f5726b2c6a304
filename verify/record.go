package verify

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Kind says what a record tells.
type Kind string

// The kinds. The first three are outcomes of a transaction that enqueued the message; an id that was tried more than
// once counts by the strongest of them: committed, then unknown, then aborted.
const (
	Committed Kind = "committed" // the commit succeeded
	Aborted   Kind = "aborted"   // the transaction rolled back
	Unknown   Kind = "unknown"   // the commit had no answer: the message may arrive or not

	Delivered Kind = "delivered" // a copy of the message arrived

	Pending   Kind = "pending"   // at the end, the outbox still holds the message to deliver it
	Parked    Kind = "parked"    // at the end, it is set aside and holds its key
	Skipped   Kind = "skipped"   // it was set aside, and its key went on without it
	Discarded Kind = "discarded" // an operator removed it

	Fault Kind = "fault" // something went wrong, which excuses copies
)

// Record is one thing that happened. Which fields it needs depends on its Kind; others are ignored.
type Record struct {
	Kind Kind
	// ID is the message's. Required, but for a Fault.
	ID uuid.UUID
	// Topic is the message's. Required where it was committed, not known, or delivered.
	Topic string
	// Key is the message's. Committed and Unknown: empty means no key. Delivered: what arrived, empty if it is not told.
	Key string
	// Keyless marks a Delivered record of which it is told that it arrived without a key.
	Keyless bool
	// Order is the message's place in the order of its key, as its writers committed: any numbers that rise. A key
	// needs one. 0 means that the message keeps no order, such as a scheduled one.
	Order int64
	// Stream is what a Delivered record was read from and keeps order: a partition, a queue. Required there.
	Stream string
	// Offset is the place in Stream: the broker's offset, or the reader's own count. The same place is the same copy,
	// read again. Required for Delivered, not negative.
	Offset int64
	// Redelivered marks a Delivered record that the broker handed out again because its reader failed. It shows that
	// the message arrived, but is no copy and tells nothing about order.
	Redelivered bool
	// At is when it happened. Required for Committed, Unknown and Delivered. Only Delivered times decide anything.
	At time.Time
	// Reason is why a message was set aside or removed. Required for Parked, Skipped and Discarded.
	Reason string
	// Fault is what went wrong: From its beginning To the end of what it may cause, such as a lease that runs out. In
	// that time up to Bound copies are excused: what the relays may have had in flight. All required for a Fault.
	Fault    string
	From, To time.Time
	Bound    int
}

// line is a record as JSON; pointers tell absent numbers from zero.
type line struct {
	Kind        Kind       `json:"kind"`
	ID          *uuid.UUID `json:"id,omitempty"`
	Topic       string     `json:"topic,omitempty"`
	Key         string     `json:"key,omitempty"`
	Keyless     bool       `json:"keyless,omitempty"`
	Order       *int64     `json:"order,omitempty"`
	Stream      string     `json:"stream,omitempty"`
	Offset      *int64     `json:"offset,omitempty"`
	Redelivered bool       `json:"redelivered,omitempty"`
	At          time.Time  `json:"at,omitzero"`
	Reason      string     `json:"reason,omitempty"`
	Fault       string     `json:"fault,omitempty"`
	From        time.Time  `json:"from,omitzero"`
	To          time.Time  `json:"to,omitzero"`
	Bound       *int       `json:"bound,omitempty"`
}

// MarshalJSON writes the record as a line of a history, without its line feed.
func (r Record) MarshalJSON() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	l := line{
		Kind: r.Kind, Topic: r.Topic, Key: r.Key, Keyless: r.Keyless, Stream: r.Stream, Redelivered: r.Redelivered,
		At: r.At, Reason: r.Reason, Fault: r.Fault, From: r.From, To: r.To,
	}
	if r.Kind == Fault {
		l.Bound = &r.Bound
	} else {
		l.ID = &r.ID
	}
	if r.Key != "" && r.enqueued() {
		l.Order = &r.Order
	}
	if r.Kind == Delivered {
		l.Offset = &r.Offset
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads a line of a history. Fields that no record has are ignored: a recorder may keep notes there.
func (r *Record) UnmarshalJSON(b []byte) error {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	*r = Record{
		Kind: l.Kind, Topic: l.Topic, Key: l.Key, Keyless: l.Keyless, Stream: l.Stream, Redelivered: l.Redelivered,
		At: l.At, Reason: l.Reason, Fault: l.Fault, From: l.From, To: l.To,
	}
	if l.ID != nil {
		r.ID = *l.ID
	}
	switch {
	case l.Order != nil:
		r.Order = *l.Order
	case r.Key != "" && r.enqueued():
		return r.refuse("order", "a message with a key needs its place in the key's order, or 0 for none")
	}
	switch {
	case l.Offset != nil:
		r.Offset = *l.Offset
	case r.Kind == Delivered:
		return r.refuse("offset", "say which place of the stream this is")
	}
	switch {
	case l.Bound != nil:
		r.Bound = *l.Bound
	case r.Kind == Fault:
		return r.refuse("bound", "say how many copies the fault excuses, or 0 for none")
	}
	return r.check()
}

// enqueued reports that the record tells how a transaction ended that may have committed the message.
func (r Record) enqueued() bool { return r.Kind == Committed || r.Kind == Unknown }

func (r Record) refuse(field, rule string) error { return &RecordError{r.Kind, field, rule} }

// check refuses a record that says too little.
func (r Record) check() error {
	if r.Kind != Fault && r.ID == uuid.Nil {
		return r.refuse("id", "a message has one, and it is not zero")
	}
	switch r.Kind {
	case Committed, Unknown:
		return r.checkTopicAndTime()
	case Delivered:
		switch {
		case r.Stream == "":
			return r.refuse("stream", "say which partition or queue it was read from")
		case r.Offset < 0:
			return r.refuse("offset", "not negative")
		case r.Keyless && r.Key != "":
			return r.refuse("keyless", "it has a key")
		}
		return r.checkTopicAndTime()
	case Parked, Skipped, Discarded:
		if r.Reason == "" {
			return r.refuse("reason", "say why")
		}
	case Fault:
		switch {
		case r.Fault == "":
			return r.refuse("fault", "say what went wrong")
		case r.From.IsZero() || r.To.Before(r.From):
			return r.refuse("from", "a fault has a beginning, and its end is not before that")
		case r.Bound < 0:
			return r.refuse("bound", "not negative")
		}
	case Aborted, Pending:
	default:
		return r.refuse("kind", "no such kind")
	}
	return nil
}

func (r Record) checkTopicAndTime() error {
	switch {
	case r.Topic == "":
		return r.refuse("topic", "a message has one")
	case r.At.IsZero():
		return r.refuse("at", "say when")
	}
	return nil
}
