package middleware_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/postroom/postroom/middleware"
)

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
