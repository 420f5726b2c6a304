package publishertest_test

import (
	"testing"

	"github.com/postroom/postroom/outbox/publishertest"
)

// A publisher's own test, on its real broker: every case is a subtest, and one that fails prints the promise that is
// broken. examples/custom-publisher has a subject that is complete.
func ExampleRun() {
	test := func(t *testing.T) {
		publishertest.Run(t, subject)
	}
	_ = test // go test calls it, as TestPublisher
}
