package middleware_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/postroom/postroom/middleware"
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
