// Package middleware gives an HTTP handler one database transaction per request, and gives the client no answer before
// that transaction has committed.
//
//	router.Use(middleware.Transaction(store, middleware.TransactionConfig{}))
//	router.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
//		… store.Enqueue(r.Context(), message) …
//		w.WriteHeader(http.StatusCreated)
//	})
//
// It is plain net/http and knows no database: any [outbox.Transactor] will do.
//
// # What is promised
//
// An answer below 400 reaches the client only after the commit; if the commit fails the client gets a 500 and not a
// byte or header of that answer. An answer of 400 or above, a panic, and a client that is gone or a deadline that has
// passed roll the transaction back. The handler runs on the goroutine of its request.
//
// # What is not promised
//
// A client may see a 500 for a commit whose outcome nobody knows, because the connection to the database broke in the
// middle of it. And a handler that writes more than the answer's bound has its transaction ended at that point, by the
// status that it chose, so that the rest can be streamed.
package middleware
