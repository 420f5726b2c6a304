package middleware_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/middleware/idempotencytest"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// shop is a handler behind both middlewares, on a store in memory.
type shop struct {
	messages *memstore.Store
	store    *idempotencytest.Memory
	config   middleware.IdempotencyConfig
	inner    middleware.TransactionConfig
	handle   http.HandlerFunc
	runs     int
}

// newShop returns a shop that places an order for each request.
func newShop() *shop {
	s := &shop{messages: memstore.New(memstore.Config{}), inner: quiet()}
	s.store = idempotencytest.NewMemory(s.messages)
	s.config.Logger = s.inner.Logger
	s.handle = func(w http.ResponseWriter, r *http.Request) {
		if err := s.enqueue(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Location", fmt.Sprint("/orders/", s.runs))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=secret")
		w.Header().Set("X-Trace", "t-1")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"run":%d}`, s.runs)
	}
	return s
}

func (s *shop) enqueue(r *http.Request) error {
	return s.store.Enqueue(r.Context(), &outbox.Message{Topic: "orders", Type: "OrderPlaced", Payload: []byte("{}")})
}

func (s *shop) handler() http.Handler {
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.runs++
		s.handle(w, r)
	})
	return middleware.Idempotency(s.store, s.config)(middleware.Transaction(s.store, s.inner)(counted))
}

// keyed returns a request with a key.
func keyed(t *testing.T, method, target, key, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Idempotency-Key", key)
	return r
}

func (s *shop) send(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "r-1")
	s.handler().ServeHTTP(w, r)
	return w
}

// order sends the request that most claims are about.
func (s *shop) order(t *testing.T) *httptest.ResponseRecorder {
	t.Helper()
	return s.send(keyed(t, http.MethodPost, "/orders?a=1", "k", `{"item":1}`))
}

func (s *shop) want(t *testing.T, runs, messages int) {
	t.Helper()
	if s.runs != runs || s.messages.Pending() != messages {
		t.Errorf("ran %d times with %d messages, want %d and %d", s.runs, s.messages.Pending(), runs, messages)
	}
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, status int, replayed bool) {
	t.Helper()
	if got := w.Header().Get("Idempotent-Replayed") == "true"; w.Code != status || got != replayed {
		t.Errorf("answered %d, replayed: %v, want %d, %v; %s", w.Code, got, status, replayed, w.Body)
	}
}

func TestIdempotency(t *testing.T) {
	t.Parallel()

	t.Run("answers_a_repeated_request_as_it_was_answered_and_makes_one_message", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		wantStatus(t, s.order(t), http.StatusCreated, false)
		again := s.order(t)
		wantStatus(t, again, http.StatusCreated, true)
		want := http.Header{
			"Location": {"/orders/1"}, "Content-Type": {"application/json"},
			"X-Request-Id": {"r-1"}, "Idempotent-Replayed": {"true"},
		}
		if diff := cmp.Diff(want, again.Result().Header); diff != "" || again.Body.String() != `{"run":1}` {
			t.Errorf("replayed %q with headers (-want +got):\n%s", again.Body, diff)
		}
		s.want(t, 1, 1)
	})

	t.Run("keeps_the_headers_that_it_is_told_to_and_never_a_cookie", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Headers = []string{"x-trace", "set-cookie"}
		s.order(t)
		got := s.order(t).Result().Header
		want := http.Header{"X-Trace": {"t-1"}, "X-Request-Id": {"r-1"}, "Idempotent-Replayed": {"true"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})

	t.Run("takes_a_key_in_quotes_and_bare_for_the_same", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.send(keyed(t, http.MethodPost, "/orders", "k", ""))
		wantStatus(t, s.send(keyed(t, http.MethodPost, "/orders", `"k"`, "")), http.StatusCreated, true)
	})

	t.Run("runs_requests_without_a_key_each_time", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		for range 2 {
			wantStatus(t, s.send(request(t, http.MethodPost, "/orders")), http.StatusCreated, false)
		}
		s.want(t, 2, 2)
	})

	t.Run("leaves_safe_methods_alone", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Required = func(*http.Request) bool { return true }
		s.handle = func(w http.ResponseWriter, _ *http.Request) {
			if _, direct := w.(*httptest.ResponseRecorder); !direct {
				t.Errorf("got writer %T", w)
			}
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace} {
			for range 2 {
				wantStatus(t, s.send(keyed(t, method, "/orders", "not; a key", "")), http.StatusOK, false)
			}
		}
		s.want(t, 8, 0)
	})

	t.Run("tells_clients_routes_and_methods_apart", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.config.Principal = func(r *http.Request) string { return r.Header.Get("Account") }
		for _, c := range []struct{ account, method, path string }{
			{"1", http.MethodPost, "/orders"},
			{"2", http.MethodPost, "/orders"},
			{"1", http.MethodPatch, "/orders"},
			{"1", http.MethodPost, "/payments"},
		} {
			r := keyed(t, c.method, c.path, "k", "")
			r.Header.Set("Account", c.account)
			wantStatus(t, s.send(r), http.StatusCreated, false)
		}
		s.want(t, 4, 4)
	})

	t.Run("tells_tenants_apart_by_default", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		for _, tenant := range []string{"a", "b"} {
			r := keyed(t, http.MethodPost, "/orders", "k", "")
			wantStatus(t, s.send(r.WithContext(outbox.WithTenant(r.Context(), tenant))), http.StatusCreated, false)
		}
		s.want(t, 2, 2)
	})

	t.Run("gives_the_handler_the_body_that_it_has_read", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.Body.Close() != nil || string(body) != `{"item":1}` {
				t.Errorf("read %q, %v", body, err)
			}
			w.WriteHeader(http.StatusNoContent)
		}
		wantStatus(t, s.order(t), http.StatusNoContent, false)
		wantStatus(t, s.order(t), http.StatusNoContent, true)
	})

	t.Run("is_the_outer_one_when_it_is_mounted_twice", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		twice := middleware.Idempotency(s.store, s.config)(s.handler())
		for _, replayed := range []bool{false, true} {
			w := httptest.NewRecorder()
			twice.ServeHTTP(w, keyed(t, http.MethodPost, "/orders", "k", ""))
			wantStatus(t, w, http.StatusCreated, replayed)
		}
	})
}
