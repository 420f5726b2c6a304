package middleware_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware"
	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/middleware/idempotencytest"
)

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
