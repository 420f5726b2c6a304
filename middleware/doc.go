// Package middleware gives an HTTP handler one database transaction per request, gives the client no answer before
// that transaction has committed, and runs a request once that a client sends again with its Idempotency-Key.
//
//	router.Use(middleware.Idempotency(store, middleware.IdempotencyConfig{Principal: account}))
//	router.Use(middleware.Transaction(store, middleware.TransactionConfig{}))
//	router.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
//		… store.Enqueue(r.Context(), message) …
//		w.WriteHeader(http.StatusCreated)
//	})
//
// It is plain net/http and knows no database: any [outbox.Transactor] will do, and for Idempotency any
// [idempotency.Store] of the same database.
//
// # What is promised
//
// An answer below 400 reaches the client only after the commit; if the commit fails the client gets a 500 and not a
// byte or header of that answer. An answer of 400 or above, a panic, and a client that is gone or a deadline that has
// passed roll the transaction back. The handler runs on the goroutine of its request.
//
// An answer below 400 to a request with an Idempotency-Key is committed in one transaction with what the handler wrote
// and its messages, and a repeated request gets it again. Of several tries of a request at most one commits, whatever
// dies or hangs in between.
//
// # What is not promised
//
// A client may see a 500 for a commit whose outcome nobody knows, because the connection to the database broke in the
// middle of it. And a handler that writes more than the answer's bound has its transaction ended at that point, by the
// status that it chose, so that the rest can be streamed.
//
// An idempotency key covers what the transaction holds: a call of another service that the handler makes before a
// rollback is made again by the next try. After its answer's time a key is free, and a request that uses it runs; when
// it is the same request, its messages have the ids that they had.
package middleware
