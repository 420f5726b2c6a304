package middleware_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/middleware/idempotencytest"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// One transaction for each POST; the client hears of the order only once it and its event are committed.
func ExampleTransaction() {
	store := memstore.New(memstore.Config{})
	inTransaction := middleware.Transaction(store, middleware.TransactionConfig{
		Skip: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/live/") }, // a stream cannot be held
	})

	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		event := &outbox.Message{Topic: "orders", Key: "c-1", Type: "OrderPlaced", Payload: []byte("{}")}
		if err := store.Enqueue(r.Context(), event); err != nil {
			slog.ErrorContext(r.Context(), "enqueue", "error", err)
			w.WriteHeader(http.StatusInternalServerError) // rolls back
			return
		}
		w.WriteHeader(http.StatusCreated) // commits
	})
	answer := httptest.NewRecorder()
	inTransaction(mux).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/orders", nil)) //nolint:noctx // no test
	fmt.Println(answer.Code, store.Pending())
	// Output: 201 1
}

// A client that got no answer sends its request again, and it is answered as it was when it ran.
func ExampleIdempotency() {
	messages := memstore.New(memstore.Config{})
	store := idempotencytest.NewMemory(messages) // an application gives its *gormstore.Store
	once := middleware.Idempotency(store, middleware.IdempotencyConfig{
		Principal: func(r *http.Request) string { return "account-1" }, // as authentication has found it
	})
	inTransaction := middleware.Transaction(store, middleware.TransactionConfig{})

	orders := func(w http.ResponseWriter, r *http.Request) {
		event := &outbox.Message{Topic: "orders", Key: "c-1", Type: "OrderPlaced", Payload: []byte("{}")}
		if err := store.Enqueue(r.Context(), event); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}
	for range 2 {
		request := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("{}")) //nolint:noctx // no test
		request.Header.Set("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		answer := httptest.NewRecorder()
		once(inTransaction(http.HandlerFunc(orders))).ServeHTTP(answer, request)
		fmt.Println(answer.Code, answer.Header().Get("Idempotent-Replayed"), messages.Pending())
	}
	// Output:
	// 201  1
	// 201 true 1
}
