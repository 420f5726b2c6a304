// Package outboxtest is for tests of applications that use an outbox: see what a transaction has stored, and relay it
// at a moment that the test chooses.
//
//	outboxtest.RequireEnqueued(t, store, &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: "c-1"})
//
//	var sent outboxtest.Recorder
//	err := outboxtest.Drain(ctx, store, &sent)          // everything that is due, in this goroutine
//	… sent.Messages() …
//
// It works with any [outbox.Store]: memstore.New for tests without a database, or the application's own.
//
// # What is promised
//
// [Drain] makes the calls of a relay with one worker, in order, and returns when nothing is left to do; nothing happens
// in the background, and no test has to wait. What is not taken, and all that [RequireEnqueued] sees, stays as it was.
//
// # What is not promised
//
// Both take all lanes of the store for a moment, so they return [ErrBusy] or fail while a relay runs on it, or shortly
// after one was killed. They see what is due: no message that waits for its time, that a relay has parked, or that is
// behind one of its key which a relay has failed to publish.
package outboxtest
