package storetest_test

import (
	"testing"

	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/storetest"
)

// A store's own test: every case is a subtest, and one that fails prints the promise that is broken.
func ExampleRun() {
	test := func(t *testing.T) {
		storetest.Run(t, func(*testing.T) storetest.Store { return memstore.New(memstore.Config{Lanes: 8}) })
	}
	_ = test // go test calls it, as TestStore
}
