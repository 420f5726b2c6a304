package middleware

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
)

var errHijackOnce = fmt.Errorf(
	"middleware: a request with an Idempotency-Key cannot take over its connection: skip the route: %w",
	http.ErrNotSupported)

// guard lets an answer below 400 out only after a transaction has ended as that answer told it to.
type guard struct {
	http.ResponseWriter
	request *http.Request
	run     *run
	outer   http.Header // what outer middleware has set

	started bool
	refused bool
}

func newGuard(w http.ResponseWriter, r *http.Request, own *run) *guard {
	return &guard{ResponseWriter: w, request: r, run: own, outer: w.Header().Clone()}
}

func (g *guard) WriteHeader(status int) {
	if g.refused {
		return
	}
	informational := status < 200 && status != http.StatusSwitchingProtocols
	if informational || g.started || g.run.decided.Load() || status >= http.StatusBadRequest {
		g.started = g.started || !informational
		g.ResponseWriter.WriteHeader(status)
		return
	}
	g.started, g.refused = true, true
	clear(g.Header())
	maps.Copy(g.Header(), g.outer)
	g.run.config.refuse(g.ResponseWriter, g.request, ErrNoTransaction)
}

func (g *guard) Write(p []byte) (int, error) {
	if !g.started {
		g.WriteHeader(http.StatusOK)
	}
	if g.refused {
		return 0, ErrNoTransaction
	}
	return g.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController calls.
func (g *guard) FlushError() error {
	if !g.started {
		g.WriteHeader(http.StatusOK)
	}
	if g.refused {
		return ErrNoTransaction
	}
	return http.NewResponseController(g.ResponseWriter).Flush()
}

// Hijack refuses: nothing of what is said over a raw connection could be recorded.
func (g *guard) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errHijackOnce }

// Flush sends what there is.
func (g *guard) Flush() { _ = g.FlushError() }

// finish gives the answer of a handler that gave none: 200.
func (g *guard) finish() {
	if !g.started {
		g.WriteHeader(http.StatusOK)
	}
}

// Unwrap lets http.ResponseController set deadlines.
func (g *guard) Unwrap() http.ResponseWriter { return g.ResponseWriter }
