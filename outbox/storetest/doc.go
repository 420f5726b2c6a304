// Package storetest holds the behaviours that every [outbox.Store] must show. A store's own tests run them:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Store { return newEmptyStore(t) })
//	}
//
// Each behaviour is a [Case]; one that fails prints the sentence of the contract that is broken. The cases need a
// clock that runs, and use leases of a second or less.
package storetest
