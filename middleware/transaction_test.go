package middleware_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

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

// serve starts a real server, because connections, deadlines and trailers need one.
func serve(t *testing.T, s *script, config middleware.TransactionConfig, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(middleware.Transaction(s, config)(h))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func TestTransactionOnARealServer(t *testing.T) {
	t.Parallel()

	t.Run("sends_trailers_and_sets_deadlines", func(t *testing.T) {
		t.Parallel()
		server := serve(t, &script{}, quiet(), func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Errorf("set a deadline: %v", err)
			}
			w.Header().Set("Trailer", "Digest")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("Digest", "sum")
		})
		post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != "body" || answer.Trailer.Get("Digest") != "sum" {
			t.Errorf("got %q with trailer %v, %v", body, answer.Trailer, err)
		}
	})

	t.Run("rolls_back_when_the_client_hangs_up", func(t *testing.T) {
		t.Parallel()
		s, entered, left := &script{}, make(chan struct{}), make(chan struct{})
		server := serve(t, s, quiet(), func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
			created(w, r)
			close(left)
		})
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-entered
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		<-left
		server.Close() // waits for the request
		s.wantEnds(t, "rollback")
	})

	t.Run("closes_the_connection_without_an_answer_after_an_abort", func(t *testing.T) {
		t.Parallel()
		s := &script{}
		server := serve(t, s, quiet(), func(w http.ResponseWriter, r *http.Request) {
			created(w, r)
			panic(http.ErrAbortHandler)
		})
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(conn).ReadString('\n'); !errors.Is(err, io.EOF) || got != "" {
			t.Errorf("read %q, %v, want nothing", got, err)
		}
		s.wantEnds(t, "rollback")
	})
}
