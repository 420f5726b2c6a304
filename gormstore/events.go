package gormstore

import (
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Events is embedded in a model, which so can raise events in domain code that knows no database:
//
//	type Order struct {
//		gormstore.Events
//		ID uuid.UUID `gorm:"primaryKey"`
//	}
//
//	order.Raise(OrderPlaced{…})
//	err = tx.Create(&order).Error
//
// What creates, updates or deletes the model stores its events in the same transaction, each once and in the order in
// which they were raised, as the messages that [Config.Registry] makes of them. A statement that changes no row stores
// none, and to MySQL a row is unchanged that gets the values which it has. Events are forgotten after the outer commit.
// After a rollback, of a savepoint too, the next statement stores them again, under the ids that they had.
//
// A type that is not registered fails the statement with outbox.ErrUnregistered before anything is written, and so does
// outbox.ErrNoTransaction where GORM's default transaction is off and no other is open. [ErrPartialRows] is for a
// batch of which some rows were left out. Copies of a model that has raised something share its events.
type Events struct{ raised *raisedEvents }

// Raise notes what has happened to the model. Events are encoded when the model is saved, after its statement.
func (e *Events) Raise(events ...any) {
	if e.raised == nil {
		e.raised = new(raisedEvents)
	}
	e.raised.add(events)
}

// Raised returns the events that no commit has stored yet.
func (e *Events) Raised() []any {
	var events []any
	for _, r := range e.raisedEvents().all() {
		events = append(events, r.event)
	}
	return events
}

func (e *Events) raisedEvents() *raisedEvents {
	if e == nil { // embedded as a pointer, and never used
		return nil
	}
	return e.raised
}

// raiser is a model that embeds Events.
type raiser interface{ raisedEvents() *raisedEvents }

// raisedEvents are those of a model and its copies.
type raisedEvents struct {
	mu   sync.Mutex
	list []*raisedEvent
}

// raisedEvent is stored by at most one open transaction.
type raisedEvent struct {
	event any
	id    uuid.UUID // of its message, from the first time on that it is stored
	by    *hookTx   // has stored it and is open
}

func (r *raisedEvents) add(events []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		r.list = append(r.list, &raisedEvent{event: e})
	}
}

func (r *raisedEvents) all() []*raisedEvent {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// waiting are the events that t has not stored. Another transaction that has, and is open, is an error: whether it
// commits is not known.
func (r *raisedEvents) waiting(t *hookTx) ([]*raisedEvent, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var waiting []*raisedEvent
	for _, e := range r.list {
		switch e.by {
		case nil:
			waiting = append(waiting, e)
		case t:
		default:
			return nil, ErrRaisedTwice
		}
	}
	return waiting, nil
}

func (r *raisedEvents) storedBy(t *hookTx, events []*raisedEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		e.by = t
	}
}

func (r *raisedEvents) committed(events []*raisedEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(e *raisedEvent) bool { return slices.Contains(events, e) })
}
