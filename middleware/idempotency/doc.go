// Package idempotency is the contract between middleware.Idempotency and the store that remembers which requests have
// run. It knows neither HTTP nor a database, so that a store can implement it without either.
//
//	record, err := store.Reserve(ctx, reservation)         // before the handler, in a transaction of its own
//	switch {
//	case record.Owner == reservation.Owner:                // ours: run the handler, and in its transaction
//		err = store.Complete(ctx, completion)
//	case record.Answer != nil:                             // done before: give the same answer
//	default:                                               // somebody else is at it
//	}
//
// # What is promised
//
// Of all that reserve a key, at most one completes it, and what it wrote in that transaction commits together with the
// answer. An owner whose lease has run out may lose the key to another; its Complete then fails, and so must its
// transaction.
//
// # What is not promised
//
// An owner whose lease has run out is not stopped: what it does outside its transaction happens, perhaps twice. And
// once an answer's time is over, its key is free again.
package idempotency
