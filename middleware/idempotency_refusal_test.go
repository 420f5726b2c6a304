package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

func TestIdempotencyRefusal(t *testing.T) {
	t.Parallel()

	t.Run("refuses_a_missing_key_only_where_one_is_required", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Required = func(r *http.Request) bool { return r.URL.Path == "/payments" }
		wantProblem(t, s.send(request(t, http.MethodPost, "/payments")), http.StatusBadRequest)
		wantStatus(t, s.send(request(t, http.MethodPost, "/orders")), http.StatusCreated, false)
	})

	t.Run("refuses_a_key_outside_its_bounds", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		for _, key := range []string{"", strings.Repeat("k", 256), "a, b", `"a`, "a\x01"} {
			wantProblem(t, s.send(keyed(t, http.MethodPost, "/orders", key, "")), http.StatusBadRequest)
		}
		twice := keyed(t, http.MethodPost, "/orders", "k", "")
		twice.Header.Add("Idempotency-Key", "k")
		wantProblem(t, s.send(twice), http.StatusBadRequest)
		s.want(t, 0, 0)
	})

	t.Run("refuses_a_key_that_was_used_for_another_request", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Route = func(*http.Request) string { return "orders" }
		s.order(t)
		for _, c := range []struct{ target, body string }{
			{"/orders?a=1", `{"item":2}`},
			{"/orders?a=1", ""},
			{"/orders?a=2", `{"item":1}`},
			{"/orders", `{"item":1}`},
			{"/orders/1?a=1", `{"item":1}`},
		} {
			w := s.send(keyed(t, http.MethodPost, c.target, "k", c.body))
			wantProblem(t, w, http.StatusUnprocessableEntity)
		}
		s.want(t, 1, 1)
	})

	t.Run("refuses_a_request_beside_a_running_one_and_says_when_to_come_back", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			again := s.order(t)
			wantProblem(t, again, http.StatusConflict)
			if again.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			other := s.send(keyed(t, http.MethodPost, "/orders?a=1", "k", "other"))
			wantProblem(t, other, http.StatusUnprocessableEntity)
			place(w, r)
		}
		wantStatus(t, s.order(t), http.StatusCreated, false)
		s.want(t, 1, 1)
	})

	t.Run("refuses_a_body_over_the_bound_and_keeps_no_key", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.MaxBody = 4
		unknown := keyed(t, http.MethodPost, "/orders", "k", "12345")
		unknown.ContentLength = -1
		wantProblem(t, s.send(unknown), http.StatusRequestEntityTooLarge)
		wantProblem(t, s.send(keyed(t, http.MethodPost, "/orders", "k", "12345")), http.StatusRequestEntityTooLarge)
		bounded := keyed(t, http.MethodPost, "/orders", "k", "123")
		bounded.Body = http.MaxBytesReader(httptest.NewRecorder(), bounded.Body, 2)
		wantProblem(t, s.send(bounded), http.StatusRequestEntityTooLarge)
		s.want(t, 0, 0)
		wantStatus(t, s.send(keyed(t, http.MethodPost, "/orders", "k", "1234")), http.StatusCreated, false)
	})

	t.Run("refuses_a_body_that_breaks_off", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		r := keyed(t, http.MethodPost, "/orders", "k", "")
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader("1"), broken{}))
		wantProblem(t, s.send(r), http.StatusBadRequest)
		s.want(t, 0, 0)
	})

	t.Run("names_the_page_that_explains_it", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.ProblemType = "https://example.com/idempotency"
		w := s.send(keyed(t, http.MethodPost, "/orders", "", ""))
		if !strings.Contains(w.Body.String(), `"type":"https://example.com/idempotency"`) {
			t.Errorf("got %s", w.Body)
		}
	})

	t.Run("lets_the_application_answer", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Failed = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Code != outbox.CodeTooLong {
				t.Errorf("error %v, want the bound", err)
			}
			w.WriteHeader(status + 1)
		}
		w := s.send(keyed(t, http.MethodPost, "/orders", strings.Repeat("k", 256), ""))
		wantStatus(t, w, http.StatusUnauthorized, false)
	})

	t.Run("does_not_run_when_the_store_fails", func(t *testing.T) {
		t.Parallel()
		var logged bytes.Buffer
		config := middleware.IdempotencyConfig{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		h := middleware.Idempotency(failing{}, config)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("the handler was called")
		}))
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "r-1")
		h.ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k-1", "{}"))
		wantProblem(t, w, http.StatusServiceUnavailable)
		if got := logged.String(); strings.Count(got, "secret-host") != 1 || strings.Contains(got, "k-1") {
			t.Errorf("logged %q, want the error once and no key", got)
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// failing is a store that has no connection.
type failing struct{ middleware.IdempotencyStore }

func (failing) Reserve(context.Context, idempotency.Reservation) (idempotency.Record, error) {
	return idempotency.Record{}, errBegin
}
