package idempotencytest

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware"
)

var requestCases = []Case{
	{
		Name:     "request/runs_once_for_fifty_equal_ones",
		Contract: "Of equal requests side by side one runs; the others are told to wait, and then get its answer.",
		Check:    checkFifty,
	},
	{
		Name:     "request/runs_again_after_a_rollback_with_the_same_message_ids",
		Contract: "What rolls back frees the key, and the run that follows gives its messages the ids that they had.",
		Check:    checkRunsAgain,
	},
}

// serve sends a request with a key through Idempotency and Transaction to h.
func (f *Fixture) serve(h http.HandlerFunc) *httptest.ResponseRecorder {
	quiet := slog.New(slog.DiscardHandler)
	transaction := middleware.Transaction(f.Store, middleware.TransactionConfig{Logger: quiet})
	idempotency := middleware.Idempotency(f.Store, middleware.IdempotencyConfig{Logger: quiet})
	r := httptest.NewRequestWithContext(f.Context(), http.MethodPost, "/orders", strings.NewReader("{}"))
	r.Header.Set("Idempotency-Key", `"request"`)
	w := httptest.NewRecorder()
	idempotency(transaction(h)).ServeHTTP(w, r)
	return w
}

// place enqueues a message, keeps its id and answers with status.
func (f *Fixture) place(status int, ids *[]uuid.UUID) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := message("placed")
		if err := f.Store.Enqueue(r.Context(), m); err != nil {
			f.Errorf("enqueue: %v", err)
		}
		*ids = append(*ids, m.ID)
		w.Header().Set("Location", "/orders/"+m.ID.String())
		w.WriteHeader(status)
		_, _ = io.WriteString(w, m.ID.String())
	}
}

func checkFifty(f *Fixture) {
	const many = 50
	var runs, first atomic.Int32
	var ids []uuid.UUID
	place := f.place(http.StatusCreated, &ids) // runs once, or the race detector speaks
	var all sync.WaitGroup
	answers := make([]string, many)
	for i := range many {
		all.Go(func() {
			f.eventuallyAnswered(func() bool {
				w := f.serve(func(w http.ResponseWriter, r *http.Request) { runs.Add(1); place(w, r) })
				if w.Code == http.StatusConflict {
					return false
				}
				if w.Header().Get("Idempotent-Replayed") == "" {
					first.Add(1)
				}
				answers[i] = w.Result().Status + " " + w.Header().Get("Location") + " " + w.Body.String()
				return true
			})
		})
	}
	all.Wait()
	if runs.Load() != 1 || first.Load() != 1 {
		f.Fatalf("ran %d times, %d answers were no replays, want 1 and 1", runs.Load(), first.Load())
	}
	want := "201 Created /orders/" + ids[0].String() + " " + ids[0].String()
	for _, got := range answers {
		if got != want {
			f.Errorf("answered %q, want %q", got, want)
		}
	}
}

// eventuallyAnswered is eventually for goroutines that are not the test's own.
func (f *Fixture) eventuallyAnswered(ok func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			f.Errorf("no answer but 409 within %v", limit)
			return
		}
	}
}

func checkRunsAgain(f *Fixture) {
	var ids []uuid.UUID
	for _, status := range []int{http.StatusInternalServerError, http.StatusConflict, http.StatusCreated} {
		if w := f.serve(f.place(status, &ids)); w.Code != status || w.Header().Get("Idempotent-Replayed") != "" {
			f.Fatalf("answered %d, want %d from the handler", w.Code, status)
		}
	}
	want := []uuid.UUID{ids[0], ids[0], ids[0]}
	if diff := cmp.Diff(want, ids); diff != "" {
		f.Errorf("message ids of three runs (-want +got):\n%s", diff)
	}
	w := f.serve(func(http.ResponseWriter, *http.Request) { f.Error("ran after the commit") })
	if w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != "true" {
		f.Errorf("answered %d, want the replay", w.Code)
	}
}
