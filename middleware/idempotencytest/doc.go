// Package idempotencytest holds the behaviours that every [idempotency.Store] must show, and a store in memory that
// shows them. A store's own tests run them:
//
//	func TestIdempotency(t *testing.T) {
//		idempotencytest.Run(t, func(t *testing.T) idempotencytest.Store { return newEmptyStore(t) })
//	}
//
// Each behaviour is a [Case]; one that fails prints the sentence of the contract that is broken. The cases need a
// clock that runs, and use leases of less than a second.
package idempotencytest
