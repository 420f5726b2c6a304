// Package memstore is an outbox in memory: the reference implementation of [outbox.Store], and a store for tests of
// applications that have no database at hand.
//
//	store := memstore.New(memstore.Config{})
//	err := store.InTransaction(ctx, func(ctx context.Context) error {
//		return store.Enqueue(ctx, message)
//	})
//
// It keeps every rule that a database must keep, and loses everything when the process ends. Its clock is the
// process's.
package memstore
