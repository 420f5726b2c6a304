package e2e

import (
	"testing"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// broker is one end of the path, as a test sees it.
type broker interface {
	// url is what BROKER_URL says.
	url() string
	// declare makes what a topic needs to keep each message for record, and removes it with the test.
	declare(t *testing.T, topic string)
	// publisher ends with the test.
	publisher(t *testing.T) outbox.Publisher
	// record receives all that a declared topic has got since it was declared, until the test ends.
	record(t *testing.T, topic string) *recorder
	// namesMessages reports whether a message has an id of the broker's own kind.
	namesMessages() bool
}

// newTopic declares a topic that no other test uses.
func newTopic(t *testing.T, b broker) string {
	t.Helper()
	topic := testservices.Name("e2e")
	b.declare(t, topic)
	return topic
}
