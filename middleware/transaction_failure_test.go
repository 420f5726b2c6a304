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

	"github.com/postroom/postroom/middleware"
)

func TestTransactionFailure(t *testing.T) {
	t.Parallel()

	t.Run("turns_a_failed_commit_into_a_problem_without_a_trace_of_the_answer", func(t *testing.T) {
		t.Parallel()
		s := &script{commit: errCommit}
		var logged bytes.Buffer
		w := post(t, s, middleware.TransactionConfig{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, created)
		wantProblem(t, w, http.StatusInternalServerError)
		s.wantEnds(t, "commit failed")
		if got := strings.Count(logged.String(), "secret-table"); got != 1 {
			t.Errorf("logged %d times, want once:\n%s", got, logged.String())
		}
	})

	t.Run("does_not_call_the_handler_when_the_transaction_cannot_begin", func(t *testing.T) {
		t.Parallel()
		w := post(t, &script{begin: errBegin}, quiet(), func(http.ResponseWriter, *http.Request) {
			t.Error("the handler was called")
		})
		wantProblem(t, w, http.StatusInternalServerError)
	})

	t.Run("does_not_answer_200_for_a_transactor_that_never_runs_its_function", func(t *testing.T) {
		t.Parallel()
		w := httptest.NewRecorder()
		h := middleware.Transaction(idle{}, quiet())(http.HandlerFunc(created))
		h.ServeHTTP(w, request(t, http.MethodPost, "/"))
		if w.Code != http.StatusInternalServerError {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
	})

	t.Run("calls_the_handler_once_even_if_the_transactor_retries", func(t *testing.T) {
		t.Parallel()
		s, calls := &script{retries: true}, 0
		w := post(t, s, quiet(), func(w http.ResponseWriter, r *http.Request) {
			calls++
			created(w, r)
		})
		wantProblem(t, w, http.StatusInternalServerError)
		s.wantEnds(t, "rollback")
		if calls != 1 {
			t.Errorf("the handler was called %d times", calls)
		}
	})

	t.Run("rolls_back_and_passes_a_panic_on", func(t *testing.T) {
		t.Parallel()
		for _, value := range []any{"boom", http.ErrAbortHandler} {
			s, w := &script{}, httptest.NewRecorder()
			got := func() (recovered any) {
				defer func() { recovered = recover() }()
				h := middleware.Transaction(s, quiet())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					created(w, r)
					panic(value)
				}))
				h.ServeHTTP(w, request(t, http.MethodPost, "/"))
				return nil
			}()
			if got != value {
				t.Errorf("recovered %v, want %v", got, value)
			}
			s.wantEnds(t, "rollback")
			if w.Body.Len() != 0 || len(w.Header()) != 0 {
				t.Errorf("the client got %v %q", w.Header(), w.Body)
			}
		}
	})

	t.Run("passes_a_panic_of_the_transactor_on", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if got := recover(); got != "driver" {
				t.Errorf("recovered %v, want the transactor's panic", got)
			}
		}()
		h := middleware.Transaction(panicking{}, quiet())(http.HandlerFunc(created))
		h.ServeHTTP(httptest.NewRecorder(), request(t, http.MethodPost, "/"))
	})

	t.Run("rolls_back_when_the_client_has_gone_whatever_the_handler_answers", func(t *testing.T) {
		t.Parallel()
		ctx, leave := context.WithCancel(t.Context())
		s := &script{}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
		w := send(s, quiet(), r, func(w http.ResponseWriter, r *http.Request) {
			created(w, r)
			leave()
		})
		s.wantEnds(t, "rollback")
		wantProblem(t, w, http.StatusServiceUnavailable)
	})

	t.Run("rolls_back_and_answers_504_when_the_deadline_has_passed", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		s := &script{}
		w := send(s, quiet(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil), created)
		s.wantEnds(t, "rollback")
		wantProblem(t, w, http.StatusGatewayTimeout)
	})
}

type idle struct{}

func (idle) InTransaction(context.Context, func(context.Context) error) error { return nil }

type panicking struct{}

func (panicking) InTransaction(ctx context.Context, fn func(context.Context) error) error {
	if err := fn(ctx); err != nil {
		return err
	}
	panic("driver")
}
