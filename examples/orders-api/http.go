package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/go-chi/chi/v5"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/middleware"
)

const (
	maxBody       = 64 << 10
	drainTimeout  = 10 * time.Second
	healthTimeout = 2 * time.Second
)

// newHandler routes the shop's requests. Those that write run in one transaction each, and are answered after it;
// with an Idempotency-Key they run once, however often they are sent.
func newHandler(
	db *gorm.DB, store *gormstore.Store, bus *cqrs.EventBus, p pages, operate func(r chi.Router),
) http.Handler {
	o, s := orders{db, store, bus}, shipping{db, store}
	r := chi.NewRouter()
	r.Use(recoverer)
	r.NotFound(handle(func(http.ResponseWriter, *http.Request) error { return notFound("path") }))
	r.MethodNotAllowed(handle(func(http.ResponseWriter, *http.Request) error {
		return &problem{Status: http.StatusMethodNotAllowed, Detail: "the path has no such method"}
	}))
	r.Get("/healthz", handle(healthOf(db)))
	r.Mount(pagesPath, p.handler())
	r.Group(operate)
	r.Group(func(r chi.Router) {
		r.Use(
			middleware.Idempotency(store, middleware.IdempotencyConfig{MaxBody: maxBody}),
			middleware.Transaction(store, middleware.TransactionConfig{}))
		r.Post("/orders", handle(o.place))
		r.Post("/orders/{id}/cancel", handle(o.cancel))
	})
	r.Get("/orders/{id}", handle(o.get))
	r.Get("/shipments/{order_id}", handle(s.get))
	return r
}

// serveHTTP returns what serves until its context ends, and then lets open requests finish.
func serveHTTP(listener net.Listener, handler http.Handler) func(context.Context) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	return func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if err := server.Shutdown(bounded); err != nil {
			return errors.Join(fmt.Errorf("drain requests: %w", err), server.Close())
		}
		return nil
	}
}

func healthOf(db *gorm.DB) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
		defer cancel()
		if err := db.WithContext(ctx).Exec("SELECT 1").Error; err != nil {
			return &problem{Status: http.StatusServiceUnavailable, Detail: "the database does not answer"}
		}
		return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	}
}

// recoverer answers for a handler that panics.
func recoverer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch reason := recover(); reason {
			case nil:
			case http.ErrAbortHandler:
				panic(reason)
			default:
				fail(w, r, fmt.Errorf("panic: %v", reason))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// handle turns a function that may fail into a handler.
func handle(f func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			fail(w, r, err)
		}
	}
}

// fail answers with the problem that err is. Anything else is ours, and the client learns nothing of it.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, detail := http.StatusInternalServerError, "the request was not completed"
	if p, ok := errors.AsType[*problem](err); ok {
		status, detail = p.Status, err.Error()
	} else {
		slog.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	body, err := json.Marshal(problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail})
	if err != nil {
		http.Error(w, http.StatusText(status), status)
		return
	}
	write(w, status, "application/problem+json", body)
}

// problem is an error that is the client's, and its body as RFC 9457 defines it.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string { return p.Detail }

func invalid(format string, args ...any) error {
	return &problem{Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(format, args...)}
}

func notFound(what string) error {
	return &problem{Status: http.StatusNotFound, Detail: "nothing has this " + what}
}

// readJSON reads a body of at most maxBody bytes that is one JSON value of known fields.
func readJSON(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("give at most %d bytes", maxBody)}
	}
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Detail: "the body could not be read"}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(value); err == nil && d.More() {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		return &problem{Status: http.StatusBadRequest, Detail: "the body is not the JSON of this resource: " + err.Error()}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	write(w, status, "application/json", body)
	return nil
}

// write ends the body with a newline, for people at a terminal.
func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
