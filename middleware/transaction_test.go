package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/middleware"
)

var (
	errBegin  = errors.New("no connection: secret-host")
	errCommit = errors.New("deferred constraint: secret-table")
)

type txKey struct{}

// script is a Transactor that behaves as told and remembers how its transactions ended.
type script struct {
	begin, commit error
	retries       bool

	mu   sync.Mutex
	ends []string
}

func (s *script) InTransaction(ctx context.Context, fn func(context.Context) error) error {
	if s.begin != nil {
		return s.begin
	}
	ctx = context.WithValue(ctx, txKey{}, s)
	err := fn(ctx)
	if s.retries {
		err = fn(ctx)
	}
	if err != nil {
		s.note("rollback")
		return fmt.Errorf("in transaction: %w", err)
	}
	if s.commit != nil {
		s.note("commit failed")
		return s.commit
	}
	s.note("commit")
	return nil
}

func (s *script) note(end string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, end)
}

func (s *script) wantEnds(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.ends); diff != "" {
		t.Errorf("transactions (-want +got):\n%s", diff)
	}
}

func inTransaction(r *http.Request) bool { return r.Context().Value(txKey{}) != nil }

func quiet() middleware.TransactionConfig {
	return middleware.TransactionConfig{Logger: slog.New(slog.DiscardHandler)}
}

// post sends a request through the middleware to h. The client's writer already has a header of outer middleware.
func post(
	t *testing.T, s *script, config middleware.TransactionConfig, h http.HandlerFunc,
) *httptest.ResponseRecorder {
	t.Helper()
	return send(s, config, request(t, http.MethodPost, "/orders"), h)
}

func request(t *testing.T, method, path string) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), method, path, nil)
}

func send(
	s *script, config middleware.TransactionConfig, r *http.Request, h http.HandlerFunc,
) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "r-1")
	middleware.Transaction(s, config)(h).ServeHTTP(w, r)
	return w
}

func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "created")
}

// wantProblem checks that the answer is a problem of that status and holds nothing of the handler's or of the inside.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	got := w.Result()
	if got.StatusCode != status || got.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %s of type %q, want %d and a problem", got.Status, got.Header.Get("Content-Type"), status)
	}
	if got.Header.Get("X-Request-Id") != "r-1" || got.Header.Get("Location") != "" {
		t.Errorf("headers %v, want those of outer middleware and none of the handler", got.Header)
	}
	if body := w.Body.String(); strings.Contains(body, "created") || strings.Contains(body, "secret") {
		t.Errorf("body %q", body)
	}
}

func TestTransaction(t *testing.T) {
	t.Parallel()

	t.Run("answers_after_the_commit", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		w := post(t, s, quiet(), func(w http.ResponseWriter, r *http.Request) {
			if !inTransaction(r) {
				t.Error("the request carries no transaction")
			}
			created(w, r)
		})
		s.wantEnds(t, "commit")
		if w.Code != http.StatusCreated || w.Body.String() != "created" || w.Header().Get("Location") != "/orders/1" {
			t.Errorf("got %d %q %v", w.Code, w.Body, w.Header())
		}
	})

	t.Run("keeps_everything_from_the_client_until_the_commit", func(t *testing.T) {
		t.Parallel()
		client := httptest.NewRecorder()
		s := &script{}
		h := middleware.Transaction(s, quiet())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			created(w, r)
			if client.Body.Len() != 0 || len(client.Header()) != 0 || len(s.ends) != 0 {
				t.Errorf("before the commit the client has %v %q", client.Header(), client.Body)
			}
		}))
		h.ServeHTTP(client, request(t, http.MethodPost, "/"))
		s.wantEnds(t, "commit")
	})

	t.Run("commits_or_rolls_back_by_the_status", func(t *testing.T) {
		t.Parallel()
		for status, end := range map[int]string{
			200: "commit", 204: "commit", 302: "commit", 304: "commit", 399: "commit",
			400: "rollback", 404: "rollback", 409: "rollback", 500: "rollback", 503: "rollback",
		} {
			s := &script{}
			w := post(t, s, quiet(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			s.wantEnds(t, end)
			if w.Code != status {
				t.Errorf("answered %d, want %d", w.Code, status)
			}
		}
	})

	t.Run("sends_the_handlers_own_error_after_the_rollback", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		w := post(t, s, quiet(), func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no such item", http.StatusUnprocessableEntity)
		})
		s.wantEnds(t, "rollback")
		if w.Code != http.StatusUnprocessableEntity || w.Body.String() != "no such item\n" {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
	})

	t.Run("takes_silence_for_200", func(t *testing.T) {
		t.Parallel()
		for name, h := range map[string]http.HandlerFunc{
			"nothing": func(http.ResponseWriter, *http.Request) {},
			"body":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") },
		} {
			s := &script{}
			if w := post(t, s, quiet(), h); w.Code != http.StatusOK {
				t.Errorf("%s: answered %d", name, w.Code)
			}
			s.wantEnds(t, "commit")
		}
	})

	t.Run("lets_the_application_decide_by_status_and_route", func(t *testing.T) {
		t.Parallel()
		config := quiet()
		config.Commit = func(r *http.Request, status int) bool {
			return status < 400 || r.Pattern == "POST /payments" && status == http.StatusPaymentRequired
		}
		mux := http.NewServeMux()
		refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPaymentRequired) }
		mux.HandleFunc("POST /payments", refuse)
		mux.HandleFunc("POST /orders", refuse)
		s := &script{}
		for _, path := range []string{"/payments", "/orders"} {
			w := send(s, config, request(t, http.MethodPost, path), mux.ServeHTTP)
			if w.Code != http.StatusPaymentRequired {
				t.Errorf("%s answered %d", path, w.Code)
			}
		}
		s.wantEnds(t, "commit", "rollback")
	})

	t.Run("leaves_safe_methods_alone", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace} {
			send(s, quiet(), request(t, method, "/"), func(w http.ResponseWriter, r *http.Request) {
				if _, direct := w.(*httptest.ResponseRecorder); !direct || inTransaction(r) {
					t.Errorf("%s: got writer %T, in a transaction: %v", method, w, inTransaction(r))
				}
			})
		}
		s.wantEnds(t)
	})

	t.Run("runs_any_method_in_a_transaction_when_told_to", func(t *testing.T) {
		t.Parallel()
		config := quiet()
		config.Skip = func(*http.Request) bool { return false }
		s := &script{}
		send(s, config, request(t, http.MethodGet, "/"), created)
		s.wantEnds(t, "commit")
	})

	t.Run("answers_as_the_application_wants_when_the_transaction_fails", func(t *testing.T) {
		t.Parallel()
		config := quiet()
		config.Failed = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			http.Error(w, err.Error(), status+1)
		}
		w := post(t, &script{commit: errCommit}, config, created)
		if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), "deferred constraint") {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
	})
}
