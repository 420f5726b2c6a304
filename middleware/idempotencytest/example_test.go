package idempotencytest_test

import (
	"testing"

	"github.com/postroom/postroom/middleware/idempotencytest"
	"github.com/postroom/postroom/outbox/memstore"
)

// A store's own test: every case is a subtest, and one that fails prints the promise that is broken.
func ExampleRun() {
	test := func(t *testing.T) {
		idempotencytest.Run(t, func(*testing.T) idempotencytest.Store {
			return idempotencytest.NewMemory(memstore.New(memstore.Config{}))
		})
	}
	_ = test // go test calls it, as TestIdempotency
}
