package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/middleware"
)

const success = "your order is placed"

// deliversNothingRolledBack sends requests that store an order and its message, and then do not commit. Behind them
// comes one of the same key that does: it has to be the first delivery.
func deliversNothingRolledBack(t *testing.T, c combination) {
	a := newApp(t, c, newTopic)
	consumer := a.broker.record(t, a.topic)
	s := serveOrders(t, a)
	a.relay(t, outboxDefaults)

	requireStatus(t, "handler error", s.post(t, "/error"), http.StatusConflict)
	requireStatus(t, "client that left", s.leave(t), http.StatusServiceUnavailable)
	if bytes := s.post(t, "/panic"); bytes != "" {
		t.Errorf("panic: the client got %q, want nothing", bytes)
	}
	requireStatus(t, "deferred constraint", s.post(t, "/deferred"), http.StatusInternalServerError)
	if n := a.database.count(t, "placed_orders") + a.database.count(t, "outbox_messages"); n != 0 {
		t.Errorf("requests that failed left %d rows", n)
	}

	if got := s.post(t, "/good"); !strings.HasPrefix(got, "HTTP/1.1 201 ") || !strings.Contains(got, success) {
		t.Fatalf("a good request: the client got %q, want 201 and %q", got, success)
	}
	consumer.awaitIDs(t, 1)
	a.database.awaitEmpty(t)
	if got := consumer.finish(t); len(got) != 1 || got[0].TotalCents != numbers["/good"] {
		t.Errorf("delivered %v, want the good request's message alone", got)
	}
	if n := a.database.count(t, "placed_orders"); n != 1 {
		t.Errorf("%d orders are stored, want the good one", n)
	}
}

// requireStatus requires an answer of that status without a byte of the handler's success.
func requireStatus(t *testing.T, name, got string, status int) {
	t.Helper()
	if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", status)) {
		t.Errorf("%s: the client got %q, want status %d", name, got, status)
	}
	if strings.Contains(got, success) || strings.Contains(got, "Location:") || strings.Contains(got, " 201 ") {
		t.Errorf("%s: the client got a part of the success: %q", name, got)
	}
}

// orderServer stores an order and its message in the transaction of each request.
type orderServer struct {
	*app
	address string
	stored  chan struct{} // the request to /leave has stored its message
}

// numbers tell which request a message is of.
var numbers = map[string]int{"/error": 1, "/deferred": 2, "/leave": 3, "/panic": 4, "/good": 5}

func serveOrders(t *testing.T, a *app) *orderServer {
	t.Helper()
	run(t, a.db, `CREATE TABLE placed_orders (
		id     text PRIMARY KEY,
		parent text REFERENCES placed_orders (id) DEFERRABLE INITIALLY DEFERRED)`)
	s := &orderServer{app: a, stored: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/good", s.place(t, nil, succeed))
	mux.HandleFunc("/error", s.place(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusConflict)
	}))
	mux.HandleFunc("/deferred", s.place(t, "nobody", succeed))
	mux.HandleFunc("/leave", s.place(t, nil, func(w http.ResponseWriter, r *http.Request) {
		s.stored <- struct{}{}
		<-r.Context().Done()
		succeed(w, r)
	}))
	mux.HandleFunc("/panic", s.place(t, nil, func(w http.ResponseWriter, r *http.Request) {
		succeed(w, r)
		panic("the handler is broken")
	}))
	quiet := middleware.TransactionConfig{Logger: slog.New(slog.DiscardHandler)}
	server := httptest.NewUnstartedServer(middleware.Transaction(a.store, quiet)(mux))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	return s
}

func succeed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, success)
}

// place stores an order and its message, and leaves the answer to then.
func (s *orderServer) place(t *testing.T, parent any, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.write(r.Context(), t, r.URL.Path, parent); err != nil {
			t.Errorf("%s: store order and message: %v", r.URL.Path, err)
		}
		then(w, r)
	}
}

func (s *orderServer) write(ctx context.Context, t *testing.T, id string, parent any) error {
	tx, ok := s.store.FromContext(ctx)
	if !ok {
		return fmt.Errorf("the request has no transaction")
	}
	if err := tx.Exec("INSERT INTO placed_orders (id, parent) VALUES (?, ?)", id, parent).Error; err != nil {
		return err
	}
	return tx.Enqueue(ctx, s.message(t, "c-1", numbers[id]))
}

// dial sends the head of a request, whose answer ends with the connection.
func (s *orderServer) dial(t *testing.T, path string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: shop\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", path)
	must(t, err)
	return c.(*net.TCPConn)
}

// post returns every byte of the answer.
func (s *orderServer) post(t *testing.T, path string) string {
	t.Helper()
	return readAll(t, s.dial(t, path))
}

// leave closes the client's side once the message is stored, which is how the server learns that a client has left,
// and listens on for what the server sends all the same.
func (s *orderServer) leave(t *testing.T) string {
	t.Helper()
	c := s.dial(t, "/leave")
	select {
	case <-s.stored:
	case <-within(t).Done():
		t.Fatal("the request to /leave did not store its message")
	}
	must(t, c.CloseWrite())
	return readAll(t, c)
}

func readAll(t *testing.T, c net.Conn) string {
	t.Helper()
	bytes, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	must(t, c.Close())
	return string(bytes)
}
