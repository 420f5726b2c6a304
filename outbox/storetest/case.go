package storetest

import (
	"slices"
	"testing"

	"github.com/postroom/postroom/outbox"
)

// Store is what the cases need: the relay's side, and a way to put messages in. The optional capabilities of package
// outbox are tested where the store has them.
type Store interface {
	outbox.Store
	outbox.Enqueuer
	outbox.Transactor
}

// Case is one behaviour.
type Case struct {
	Name     string
	Contract string // the promise, in a sentence
	Check    func(f *Fixture)
}

// Run checks every case as a subtest, side by side. open returns an empty store of several lanes, a new one for each
// call.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f := &Fixture{T: t, Store: open(t)}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("broken promise: %s", c.Contract)
				}
			})
			c.Check(f)
		})
	}
}

// Cases returns all behaviours.
func Cases() []Case {
	return slices.Concat(enqueueCases, laneCases, claimCases, orderCases, settleCases, recoveryCases, wakeCases,
		actCases, findCases, backlogCases, pauseCases, overseeCases)
}
