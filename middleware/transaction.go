package middleware

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// TransactionConfig tunes [Transaction]. The zero value works.
type TransactionConfig struct {
	// Skip reports whether a request is served without a transaction and without holding its answer, as a WebSocket or
	// a stream needs it. Defaults to GET, HEAD, OPTIONS and TRACE requests.
	Skip func(r *http.Request) bool
	// Commit reports whether an answer of that status commits. The request is the one that was handed on, so it can decide
	// by route: its Pattern is set by http.ServeMux, its context holds chi's match. Defaults to status below 400.
	Commit func(r *http.Request, status int) bool
	// MaxBuffer bounds the bytes of body that are held back. An answer that grows beyond it is decided by its status there
	// and then, and streamed. Defaults to 1 MiB.
	MaxBuffer int
	// Failed answers a request whose transaction could not be begun or committed, or whose context ended first
	// (status 504 for a deadline, else 503), or whose idempotency key was lost to another run of it (status 409). Defaults
	// to a problem+json of that status.
	Failed func(w http.ResponseWriter, r *http.Request, status int, err error)
	// Logger gets an error that ends a request with 500. Defaults to slog.Default.
	Logger *slog.Logger
}

// Transaction returns middleware that runs each request in one transaction of t, which the request's context carries,
// and holds the answer, headers included, until the transaction has ended. If the request's context already carries a
// transaction of t, that one is joined, and whoever began it commits it.
func Transaction(t outbox.Transactor, config TransactionConfig) func(http.Handler) http.Handler {
	config = config.withDefaults()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if config.Skip(r) {
				next.ServeHTTP(w, r)
				return
			}
			serve(t, config, next, w, r)
		})
	}
}

func (c TransactionConfig) withDefaults() TransactionConfig {
	if c.Skip == nil {
		c.Skip = safeMethod
	}
	if c.Commit == nil {
		c.Commit = func(_ *http.Request, status int) bool { return status < http.StatusBadRequest }
	}
	if c.Failed == nil {
		c.Failed = writeProblem
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.MaxBuffer = cmp.Or(c.MaxBuffer, 1<<20)
	return c
}

// safeMethod reports whether a method is safe in the sense of RFC 9110, section 9.2.1: it changes nothing.
func safeMethod(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func serve(t outbox.Transactor, config TransactionConfig, next http.Handler, w http.ResponseWriter, r *http.Request) {
	run := runToRecord(r.Context())
	tx, err := begin(r.Context(), t)
	if err != nil {
		config.fail(w, r, err)
		return
	}
	inner := r.WithContext(markTransaction(tx.ctx))
	held := newHeldWriter(w, config.MaxBuffer, func(a answer) error {
		return end(config, inner, tx, run, a)
	})
	defer tx.rollback() // after a panic; otherwise it has ended
	next.ServeHTTP(held, inner)
	if err := held.finish(); err != nil {
		config.fail(w, r, err)
	}
}

// end commits, with the answer recorded if run is not nil, or rolls back, as the status says. An error means that the
// answer must not be sent.
func end(config TransactionConfig, r *http.Request, tx *transaction, run *run, a answer) error {
	if err := context.Cause(r.Context()); err != nil {
		tx.rollback()
		return err
	}
	if !config.Commit(r, a.status) {
		tx.rollback()
		run.rolledBack()
		return nil
	}
	if err := run.record(r.Context(), a); err != nil {
		tx.rollback()
		return err
	}
	if err := tx.commit(); err != nil {
		return err
	}
	run.committed()
	return nil
}

// fail answers in place of the handler. A client that has left gets no 500, because nothing is wrong here.
func (c TransactionConfig) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, idempotency.ErrLost):
		status = http.StatusConflict
		c.Logger.WarnContext(r.Context(), "middleware: request took longer than its idempotency lease",
			"method", r.Method, "path", r.URL.Path)
	case r.Context().Err() == nil:
		c.Logger.ErrorContext(r.Context(), "middleware: transaction did not commit",
			"method", r.Method, "path", r.URL.Path, "error", err)
	case errors.Is(r.Context().Err(), context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	default:
		status = http.StatusServiceUnavailable
	}
	c.Failed(w, r, status, err)
}
