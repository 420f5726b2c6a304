package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/middleware/idempotency"
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

func TestIdempotencyRun(t *testing.T) {
	t.Parallel()

	t.Run("frees_the_key_when_the_request_rolls_back", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
			s.handle = func(w http.ResponseWriter, r *http.Request) {
				if err := s.enqueue(r); err != nil {
					t.Error(err)
				}
				w.WriteHeader(status)
			}
			wantStatus(t, s.order(t), status, false)
		}
		s.want(t, 3, 0)
		s.handle = place
		wantStatus(t, s.order(t), http.StatusCreated, false)
		s.want(t, 4, 1)
	})

	t.Run("frees_the_key_when_the_handler_panics", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			place(w, r)
			panic("boom")
		}
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v", got)
				}
			}()
			s.order(t)
		}()
		s.handle = place
		wantStatus(t, s.order(t), http.StatusCreated, false)
		s.want(t, 2, 1)
	})

	t.Run("frees_the_key_when_the_client_hangs_up", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		ctx, leave := context.WithCancel(t.Context())
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			place(w, r)
			leave()
		}
		s.send(keyed(t, http.MethodPost, "/orders?a=1", "k", `{"item":1}`).WithContext(ctx))
		s.handle = place
		wantStatus(t, s.order(t), http.StatusCreated, false)
		s.want(t, 2, 1)
	})

	t.Run("keeps_an_error_that_commits_and_none_that_another_try_may_change", func(t *testing.T) {
		t.Parallel()
		for status, kept := range map[int]bool{
			402: true, 404: true, 409: true, 401: false, 403: false, 429: false, 500: false, 503: false,
		} {
			s := newShop()
			s.inner.Commit = func(*http.Request, int) bool { return true }
			s.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
			wantStatus(t, s.order(t), status, false)
			wantStatus(t, s.order(t), status, kept)
		}
	})

	t.Run("lets_an_answer_below_400_out_that_rolled_back_on_purpose", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.inner.Commit = func(r *http.Request, _ int) bool { return r.Header.Get("Dry-Run") == "" }
		r := keyed(t, http.MethodPost, "/orders", "k", "")
		r.Header.Set("Dry-Run", "yes")
		wantStatus(t, s.send(r), http.StatusCreated, false)
		wantStatus(t, s.send(keyed(t, http.MethodPost, "/orders", "k", "")), http.StatusCreated, false)
		s.want(t, 2, 1)
	})

	t.Run("does_not_run_again_when_the_answer_was_too_large_to_be_kept", func(t *testing.T) {
		t.Parallel()
		for name, change := range map[string]func(s *shop){
			"body":     func(s *shop) { s.config.MaxAnswer = 40 },
			"streamed": func(s *shop) { s.inner.MaxBuffer = 4 },
		} {
			s := newShop()
			change(s)
			first := s.order(t)
			wantStatus(t, first, http.StatusCreated, false)
			if first.Body.String() != `{"run":1}` {
				t.Errorf("%s: the first answer is %q", name, first.Body)
			}
			wantProblem(t, s.order(t), http.StatusUnprocessableEntity)
			s.want(t, 1, 1)
		}
	})

	t.Run("records_what_a_streaming_handler_has_said_before_it_streams", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.inner.MaxBuffer = 4
		place := s.handle
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			place(w, r) // beyond the buffer: committed, and on its way
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
			wantProblem(t, s.order(t), http.StatusUnprocessableEntity)
			panic(http.ErrAbortHandler) // and the stream breaks off
		}
		func() {
			defer func() { _ = recover() }()
			s.order(t)
		}()
		wantProblem(t, s.order(t), http.StatusUnprocessableEntity)
		s.want(t, 1, 1)
	})

	t.Run("rolls_back_a_request_that_has_lost_its_key_to_another_try", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		place := s.handle
		s.config.Lease = time.Nanosecond
		s.handle = func(w http.ResponseWriter, r *http.Request) {
			s.handle = place
			place(w, r)
			wantStatus(t, s.order(t), http.StatusCreated, false) // the other try, before this one has ended
		}
		wantProblem(t, s.order(t), http.StatusConflict)
		s.want(t, 2, 1)
		again := s.order(t)
		wantStatus(t, again, http.StatusCreated, true)
		if got := again.Body.String(); got != `{"run":2}` {
			t.Errorf("replayed %s, want the answer of the try that committed", got)
		}
	})

	t.Run("frees_the_key_of_a_process_that_died_when_the_lease_ends", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		s.store = idempotencytest.NewMemory(s.messages)
		key := idempotency.Key{Method: http.MethodPost, Route: "/orders", Value: "k"}
		died := idempotency.Reservation{Key: key, Owner: uuid.New(), Lease: 100 * time.Millisecond}
		if _, err := s.store.Reserve(t.Context(), died); err != nil {
			t.Fatal(err)
		}
		end := time.After(deadline)
		for s.order(t).Code != http.StatusCreated {
			select {
			case <-end:
				t.Fatalf("the key was not freed within %v", deadline)
			case <-time.After(10 * time.Millisecond):
			}
		}
		s.want(t, 1, 1)
	})

	t.Run("sends_nothing_of_a_success_that_could_not_be_recorded", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		h := middleware.Idempotency(uncompleting{s.store}, s.config)(middleware.Transaction(s.store, s.inner)(s.handle))
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "r-1")
		h.ServeHTTP(w, keyed(t, http.MethodPost, "/orders?a=1", "k", `{"item":1}`))
		wantProblem(t, w, http.StatusInternalServerError)
		s.want(t, 0, 0)
		wantStatus(t, s.order(t), http.StatusCreated, false) // the key is free
	})

	t.Run("says_when_a_key_could_not_be_freed", func(t *testing.T) {
		t.Parallel()
		s := newShop()
		var logged bytes.Buffer
		s.config.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		s.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
		h := middleware.Idempotency(unreleasing{s.store}, s.config)(middleware.Transaction(s.store, s.inner)(s.handle))
		h.ServeHTTP(httptest.NewRecorder(), keyed(t, http.MethodPost, "/orders", "k", ""))
		if got := logged.String(); strings.Count(got, "not released") != 1 {
			t.Errorf("logged %q", got)
		}
	})
}

const deadline = 10 * time.Second

type uncompleting struct{ middleware.IdempotencyStore }

func (uncompleting) Complete(context.Context, idempotency.Completion) error { return errCommit }

type unreleasing struct{ middleware.IdempotencyStore }

func (unreleasing) Release(context.Context, idempotency.Key, uuid.UUID) error { return errCommit }

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
