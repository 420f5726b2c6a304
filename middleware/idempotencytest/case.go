package idempotencytest

import (
	"slices"
	"testing"

	"github.com/postroom/postroom/middleware/idempotency"
)

// Store is what the cases need: keys, and messages in the same transactions.
type Store interface {
	idempotency.Store
	Transactional
}

// Case is one behaviour.
type Case struct {
	Name     string
	Contract string // the promise, in a sentence
	Check    func(f *Fixture)
}

// Run checks every case as a subtest, side by side. open returns an empty store, a new one for each call.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("broken promise: %s", c.Contract)
				}
			})
			c.Check(&Fixture{T: t, Store: open(t)})
		})
	}
}

// Cases returns all behaviours: those of the store alone, and those of requests that run on it.
func Cases() []Case { return slices.Concat(reserveCases, completeCases, releaseCases, requestCases) }
