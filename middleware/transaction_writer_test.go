package middleware_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postroom/postroom/middleware"
)

func TestTransactionWriter(t *testing.T) {
	t.Parallel()

	t.Run("counts_the_first_final_status_and_the_headers_of_that_moment", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		w := post(t, s, quiet(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusContinue)
			w.Header().Set("A", "1")
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusInternalServerError)
			w.Header().Set("A", "2")
		})
		s.wantEnds(t, "commit")
		if got := w.Result(); got.StatusCode != http.StatusAccepted || got.Header.Get("A") != "1" {
			t.Errorf("got %s with A: %q", got.Status, got.Header.Get("A"))
		}
	})

	t.Run("lets_the_handler_take_back_a_header_of_outer_middleware", func(t *testing.T) {
		t.Parallel()
		w := post(t, &script{}, quiet(), func(w http.ResponseWriter, _ *http.Request) { w.Header().Del("X-Request-Id") })
		if got := w.Result().Header.Get("X-Request-Id"); got != "" {
			t.Errorf("got %q, want it gone", got)
		}
	})

	t.Run("refuses_a_body_where_none_is_allowed", func(t *testing.T) {
		t.Parallel()
		post(t, &script{}, quiet(), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "body"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("error %v, want ErrBodyNotAllowed", err)
			}
		})
	})

	t.Run("panics_at_an_impossible_status_before_anything_is_committed", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			post(t, s, quiet(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) })
		}()
		s.wantEnds(t, "rollback")
	})

	t.Run("puts_nothing_on_the_wire_at_a_flush_before_the_commit", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		client := httptest.NewRecorder()
		h := middleware.Transaction(s, quiet())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			created(w, r)
			w.(http.Flusher).Flush()
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("error %v, want ErrNotSupported", err)
			}
			if client.Flushed || client.Body.Len() != 0 {
				t.Error("the client got something before the commit")
			}
		}))
		h.ServeHTTP(client, request(t, http.MethodPost, "/"))
		s.wantEnds(t, "commit")
	})

	t.Run("refuses_to_hand_over_the_connection", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		post(t, s, quiet(), func(w http.ResponseWriter, _ *http.Request) {
			_, _, err := http.NewResponseController(w).Hijack()
			if !errors.Is(err, http.ErrNotSupported) || !strings.Contains(err.Error(), "inside a transaction") {
				t.Errorf("error %v, want ErrNotSupported with the reason", err)
			}
			w.WriteHeader(http.StatusInternalServerError)
		})
		s.wantEnds(t, "rollback")
	})
}

func TestTransactionBuffer(t *testing.T) {
	t.Parallel()
	small := quiet()
	small.MaxBuffer = 4

	t.Run("holds_an_answer_of_exactly_the_bound", func(t *testing.T) {
		t.Parallel()
		s := &script{commit: errCommit}
		w := post(t, s, small, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "12")
			_, _ = io.WriteString(w, "34")
		})
		wantProblem(t, w, http.StatusInternalServerError)
	})

	t.Run("commits_before_it_streams_an_answer_beyond_the_bound", func(t *testing.T) {
		t.Parallel()
		s, client := &script{}, httptest.NewRecorder()
		h := middleware.Transaction(s, small)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "123")
			s.wantEnds(t)
			_, _ = io.WriteString(w, "45")
			s.wantEnds(t, "commit")
			_, _ = io.WriteString(w, "6")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			if got := client.Body.String(); got != "123456" || client.Code != http.StatusAccepted || !client.Flushed {
				t.Errorf("the client has %d %q, flushed: %v", client.Code, got, client.Flushed)
			}
		}))
		h.ServeHTTP(client, request(t, http.MethodPost, "/"))
		s.wantEnds(t, "commit")
	})

	t.Run("rolls_back_before_it_streams_an_error", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		w := post(t, s, small, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, "long story")
			s.wantEnds(t, "rollback")
		})
		if w.Code != http.StatusConflict || w.Body.String() != "long story" {
			t.Errorf("got %d %q", w.Code, w.Body)
		}
	})

	t.Run("tells_the_handler_when_the_commit_fails_and_sends_none_of_it", func(t *testing.T) {
		t.Parallel()
		s := &script{commit: errCommit}
		w := post(t, s, small, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "cre")
			for range 2 {
				if _, err := io.WriteString(w, "ated"); !errors.Is(err, errCommit) {
					t.Errorf("error %v, want that of the commit", err)
				}
			}
			if err := http.NewResponseController(w).Flush(); !errors.Is(err, errCommit) {
				t.Errorf("error %v, want that of the commit", err)
			}
		})
		wantProblem(t, w, http.StatusInternalServerError)
		s.wantEnds(t, "commit failed")
	})
}
