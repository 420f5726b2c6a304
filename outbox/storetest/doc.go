// Package storetest holds the behaviours that every [outbox.Store] must show. A store's own tests run them:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Store { return newEmptyStore(t) })
//	}
//
// Each behaviour is a [Case]; one that fails prints the sentence of the contract that is broken. The cases need a
// clock that runs, and use leases of a second or less.
//
// Groups can be run one by one while a store is being written, in the order enqueue, lanes, claim, order, settle,
// recovery:
//
//	go test -race -run 'TestStore/(enqueue|lanes)'
//
// Optional interfaces are tested where the store has them: outbox.Waker (wake), outbox.Inspector (find, act),
// outbox.Backlogger (backlog), outbox.Pauser (pause), outbox.Overseer (oversee).
//
// # What is promised
//
// Each case can fail: internal/mutants breaks the store in memory once for every one of them, and wants it to turn red.
//
// # What is not promised
//
// The cases are deterministic. They provoke no race between statements that run at once, and lose no answer; a store on
// a database needs tests of its own for that, of which docs/extending.md names the pitfalls.
package storetest
