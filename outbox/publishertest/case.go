package publishertest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

// Subject is a publisher, and a way to see what its broker holds.
type Subject struct {
	Publisher outbox.Publisher
	// Topic makes a destination that keeps whatever is published to it.
	Topic func(t *testing.T) string
	// Missing is a destination that the broker does not have. Empty if the broker has every destination.
	Missing string
	// Poison makes a message to topic that the broker or the publisher refuses for its own sake. Nil if there is none.
	Poison func(topic string) *outbox.Message
	// Read returns what topic holds in the order of acceptance, once it holds at least n messages; it fails the test
	// when that takes longer than 20 seconds.
	Read func(t *testing.T, topic string, n int) []Received
	// LosesNil says that the broker's protocol cannot tell a nil payload from an empty one.
	LosesNil bool
}

// Received is one message as the broker gave it back.
type Received struct {
	ID      uuid.UUID // from the header [outbox.HeaderID]
	Payload []byte
	Headers map[string]string
}

// Case is one behaviour.
type Case struct {
	Name     string
	Contract string // the promise, in a sentence
	Check    func(t *testing.T, s Subject)
}

// Run checks every case as a subtest. open returns a subject, a new one for each call.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("broken promise: %s", c.Contract)
				}
			})
			c.Check(t, open(t))
		})
	}
}
