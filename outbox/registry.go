package outbox

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Registry knows how the application's own types become messages, so that domain code can name what happened and
// nothing else. It never changes, and may be used by many goroutines. A nil Registry knows no type.
type Registry struct {
	byType map[reflect.Type]definition
}

// Event says how values of E become messages. Type and Topic are required.
type Event[E any] struct {
	// Type is the stable wire name, see [Message].
	Type string
	// Version is the version of the body. Defaults to 1.
	Version int
	// Topic is where the messages go.
	Topic string
	// Key returns the ordering key. Defaults to none.
	Key func(E) string
	// Encode returns the body. Defaults to JSON.
	Encode func(E) ([]byte, error)
	// ContentType is that of the body. Defaults to application/json.
	ContentType string
}

// EventDefinition is an [Event] of any type.
type EventDefinition interface {
	definition() (reflect.Type, definition)
}

// definition makes a message without an id.
type definition struct {
	prototype Message
	key       func(event any) string
	encode    func(event any) ([]byte, error)
}

// NewRegistry returns a registry of events. The error is a [*FieldError]: a definition without a valid Type or Topic, a
// Go type that is defined twice, or a Type and Version that two of them claim.
func NewRegistry(events ...EventDefinition) (*Registry, error) {
	r := &Registry{byType: make(map[reflect.Type]definition, len(events))}
	wire := map[string]reflect.Type{}
	for _, e := range events {
		goType, d := e.definition()
		if err := d.prototype.check(); err != nil {
			return nil, fmt.Errorf("define %v: %w", goType, err)
		}
		if _, ok := r.byType[goType]; ok {
			return nil, &FieldError{Field: goType.String(), Code: CodeConflict, Hint: "define each Go type once"}
		}
		name := fmt.Sprint(d.prototype.Type, " ", d.prototype.Version)
		if other, ok := wire[name]; ok {
			hint := fmt.Sprintf("%s is what %v is called", name, other)
			return nil, &FieldError{Field: goType.String(), Code: CodeConflict, Hint: hint}
		}
		wire[name], r.byType[goType] = goType, d
	}
	return r, nil
}

func (e Event[E]) definition() (reflect.Type, definition) {
	d := definition{prototype: Message{Topic: e.Topic, Type: e.Type, Version: e.Version, ContentType: e.ContentType}}
	if d.prototype.ContentType == "" {
		d.prototype.ContentType = "application/json"
	}
	if d.prototype.Version == 0 {
		d.prototype.Version = 1
	}
	d.encode = json.Marshal
	if e.Encode != nil {
		d.encode = func(event any) ([]byte, error) { return e.Encode(event.(E)) } //nolint:errcheck // found by its type
	}
	if e.Key != nil {
		d.key = func(event any) string { return e.Key(event.(E)) } //nolint:errcheck // found by its type
	}
	return reflect.TypeFor[E](), d
}

// Message returns the message of an event, which may be a pointer to what is defined. It returns [ErrUnregistered] for
// a type that is not defined, and a [*FieldError] for nil.
func (r *Registry) Message(event any) (*Message, error) {
	event, d, err := r.find(event)
	if err != nil {
		return nil, err
	}
	m := d.prototype
	if d.key != nil {
		m.Key = d.key(event)
	}
	if m.Payload, err = d.encode(event); err != nil {
		return nil, fmt.Errorf("encode %T: %w", event, err)
	}
	if m.Payload == nil {
		m.Payload = []byte{} // an event is no tombstone
	}
	return &m, nil
}

// Describe returns what all messages of event's type have in common: Topic, Type, Version and ContentType. Its errors
// are those of Message.
func (r *Registry) Describe(event any) (*Message, error) {
	_, d, err := r.find(event)
	if err != nil {
		return nil, err
	}
	m := d.prototype
	return &m, nil
}

// find follows a pointer to the value that is defined.
func (r *Registry) find(event any) (any, definition, error) {
	v := reflect.ValueOf(event)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, definition{}, &FieldError{Field: "Event", Code: CodeMissing, Hint: "an event must not be nil"}
	}
	if r == nil {
		return nil, definition{}, fmt.Errorf("%w: %T, and there is no Registry", ErrUnregistered, event)
	}
	if d, ok := r.byType[v.Type()]; ok {
		return event, d, nil
	}
	if v.Kind() == reflect.Pointer {
		if d, ok := r.byType[v.Type().Elem()]; ok {
			return v.Elem().Interface(), d, nil
		}
	}
	return nil, definition{}, fmt.Errorf("%w: %T", ErrUnregistered, event)
}
