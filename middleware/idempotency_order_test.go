package middleware_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postroom/postroom/middleware"
)

func TestIdempotencyOrder(t *testing.T) {
	t.Parallel()

	t.Run("refuses_to_run_inside_a_transaction", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		h := middleware.Transaction(s.store, s.inner)(s.handler())
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "r-1")
		h.ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k", ""))
		wantProblem(t, w, http.StatusInternalServerError)
		s.want(t, 0, 0)
	})

	t.Run("records_once_when_transactions_are_nested", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			middleware.Transaction(s.store, s.inner)(place).ServeHTTP(w, r)
		}
		wantStatus(t, s.order(t), http.StatusCreated, false)
		wantStatus(t, s.order(t), http.StatusCreated, true)
		s.want(t, 1, 1)
	})

	t.Run("records_the_transaction_that_commits_when_one_before_it_rolled_back", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		inTransaction := middleware.Transaction(s.store, s.inner)
		retrying := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conflict := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }
			inTransaction(http.HandlerFunc(conflict)).ServeHTTP(httptest.NewRecorder(), r)
			inTransaction(s.handle).ServeHTTP(w, r)
		})
		h := middleware.Idempotency(s.store, s.config)(retrying)
		for _, replayed := range []bool{false, true} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k", ""))
			wantStatus(t, w, http.StatusCreated, replayed)
		}
	})

	t.Run("replaces_a_success_that_ran_without_a_transaction", func(t *testing.T) {
		t.Parallel()
		for name, h := range map[string]http.HandlerFunc{
			"status": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/orders/1")
				w.WriteHeader(http.StatusCreated)
				w.WriteHeader(http.StatusCreated)
			},
			"body": func(w http.ResponseWriter, _ *http.Request) {
				if _, err := io.WriteString(w, "created"); !errors.Is(err, middleware.ErrNoTransaction) {
					t.Errorf("write: %v", err)
				}
			},
			"flush": func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); !errors.Is(err, middleware.ErrNoTransaction) {
					t.Errorf("flush: %v", err)
				}
			},
			"nothing": func(http.ResponseWriter, *http.Request) {},
		} {
			var logged bytes.Buffer
			s := newShop()
			s.config.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			w := httptest.NewRecorder()
			w.Header().Set("X-Request-Id", "r-1")
			middleware.Idempotency(s.store, s.config)(h).ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k", ""))
			wantProblem(t, w, http.StatusInternalServerError)
			if got := logged.String(); strings.Count(got, "mount Transaction inside") != 1 {
				t.Errorf("%s: logged %q", name, got)
			}
		}
	})

	t.Run("refuses_to_hand_over_the_connection_of_a_request_that_nothing_would_record", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		refused := make(chan error, 1)
		h := middleware.Idempotency(s.store, s.config)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _, err := http.NewResponseController(w).Hijack()
			refused <- err
			w.WriteHeader(http.StatusNotImplemented)
		}))
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "k")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := <-refused; !errors.Is(err, http.ErrNotSupported) || answer.StatusCode != http.StatusNotImplemented {
			t.Errorf("hijack: %v, answered %d", err, answer.StatusCode)
		}
	})

	t.Run("passes_on_what_middleware_in_between_refuses", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		refuse := func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who are you", http.StatusUnauthorized)
		}
		for range 2 {
			w := httptest.NewRecorder()
			h := middleware.Idempotency(s.store, s.config)(http.HandlerFunc(refuse))
			h.ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k", ""))
			wantStatus(t, w, http.StatusUnauthorized, false)
		}
	})
}
