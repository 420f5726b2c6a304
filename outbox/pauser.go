package outbox

import (
	"cmp"
	"context"
	"time"
)

// Pauser is a store that keeps some of its messages from relays for as long as an operator wants. Nothing is lost and
// no attempt is counted meanwhile. Once Pause has returned, no further claim has a paused message; those in claims
// that are open go on.
//
// A paused message holds what comes later in its key, of whatever topic, as a message that waits for a retry does: or
// else the pause of one topic would change the order of keys that span several. Other messages go on.
type Pauser interface {
	// Pause holds back what scope covers, and is no error where that is paused already: by and why are then replaced.
	Pause(ctx context.Context, act Act, scope Scope) error
	// Resume ends the pause of exactly this scope, if there is one, and wakes relays. What another pause covers stays
	// paused. When it returns an error, it can be repeated; a relay does the rest in time.
	Resume(ctx context.Context, act Act, scope Scope) error
	// Pauses returns the pauses that there are, by topic and then by key.
	Pauses(ctx context.Context) ([]Pause, error)
}

// Scope is what a pause covers: a topic, or a key in whatever topic, or everything if both are empty.
type Scope struct {
	Topic string
	Key   string
}

// Pause is a scope that is paused, by whom and why.
type Pause struct {
	Scope
	Act
	At time.Time
}

// Covers reports whether m is in s.
func (s Scope) Covers(m *Message) bool {
	return (s.Topic == "" || s.Topic == m.Topic) && (s.Key == "" || s.Key == m.Key)
}

// Check returns a [*FieldError] unless s is a topic, a key, or everything. It is for authors of stores.
func (s Scope) Check() error {
	if s.Topic != "" && s.Key != "" {
		return &FieldError{
			Field: "Scope", Code: CodeConflict, Hint: "pause a topic or a key: a key has one order over all topics",
		}
	}
	return cmp.Or(checkText("Topic", s.Topic, MaxTopic), checkText("Key", s.Key, MaxKey))
}
