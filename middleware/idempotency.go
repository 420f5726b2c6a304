package middleware

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// IdempotencyStore remembers which requests have run. *gormstore.Store is one.
type IdempotencyStore = idempotency.Store

// IdempotencyConfig tunes [Idempotency]. The zero value works; set Principal unless every client is the same one.
type IdempotencyConfig struct {
	// Principal returns whom the request comes from, as the server knows it: an account or a tenant that authentication
	// has put into the context, never what a client may choose. It keeps one client from reading the answers of
	// another. Defaults to the tenant of the context, see [outbox.WithTenant].
	Principal func(r *http.Request) string
	// Route returns what the key is for, besides the method. Defaults to the pattern that http.ServeMux has matched, and
	// in front of it to the path.
	Route func(r *http.Request) string
	// Skip reports whether a request is served as if it had no key. Defaults to GET, HEAD, OPTIONS and TRACE requests.
	Skip func(r *http.Request) bool
	// Required reports whether a request without a key is refused with 400. Defaults to no.
	Required func(r *http.Request) bool
	// MaxBody bounds the body of a request with a key, in bytes, because it is read before the handler runs; a larger one
	// is refused with 413. Defaults to 1 MiB.
	MaxBody int
	// MaxAnswer bounds what is kept of an answer, body and headers, in bytes. A larger one is sent, and a repeated
	// request is refused with 422 and does not run again. The same holds for an answer that exceeds the buffer of the
	// transaction middleware. Defaults to 64 KiB.
	MaxAnswer int
	// Headers names the headers of an answer that are kept; Set-Cookie never is. Defaults to Content-Type,
	// Content-Encoding, Content-Language, Content-Disposition, Location, ETag, Last-Modified and Link.
	Headers []string
	// Lease is how long a key stays reserved if the process dies while the handler runs. A request that takes longer may
	// find at its end that another try has taken over, and rolls back with 409. Defaults to a minute.
	Lease time.Duration
	// Keep is how long an answer is kept and the request does not run again. Defaults to 24 hours.
	Keep time.Duration
	// ProblemType is the address of a page that tells clients these rules, as the type of the problems. Defaults to
	// about:blank.
	ProblemType string
	// Failed answers a request that is refused, with one of this package's errors, or whose store fails (status 503).
	// Defaults to a problem+json of that status.
	Failed func(w http.ResponseWriter, r *http.Request, status int, err error)
	// Logger gets errors of the store and of the middleware's order. Defaults to slog.Default.
	Logger *slog.Logger
}

// Idempotency returns middleware that runs a request once for each value of its Idempotency-Key header, and answers a
// repeated one as it was answered, with the header Idempotent-Replayed: true. It goes outside [Transaction], which
// commits the answer together with what the handler has written:
//
//	router.Use(middleware.Idempotency(store, config), middleware.Transaction(store, …))
//
// The key is reserved before the handler runs. A try beside a running one is refused with 409 and Retry-After, one that
// differs in path, query or body with 422, and a malformed key with 400. What rolls back frees the key, and so do 401,
// 403, 429 and every status from 500, which are never kept. Messages get ids that follow from key and request,
// so that a request that runs again cannot make new ones.
//
// An answer below 400 to a request with a key that did not run in a [Transaction] of the same database is replaced
// by a 500, because nothing would keep the request from running again.
func Idempotency(store IdempotencyStore, config IdempotencyConfig) func(http.Handler) http.Handler {
	config = config.withDefaults()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys := r.Header.Values(idempotency.Header)
			switch {
			case config.Skip(r), runOf(r.Context()) != nil: // mounted twice: the outer one has seen to it
				next.ServeHTTP(w, r)
			case len(keys) > 0:
				config.serve(store, next, w, r, keys)
			case config.Required(r):
				config.refuse(w, r, ErrKeyMissing)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

var keptHeaders = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition",
	"Location", "ETag", "Last-Modified", "Link",
}

func (c IdempotencyConfig) withDefaults() IdempotencyConfig {
	if c.Principal == nil {
		c.Principal = func(r *http.Request) string { return outbox.Tenant(r.Context()) }
	}
	if c.Route == nil {
		c.Route = func(r *http.Request) string { return cmp.Or(r.Pattern, r.URL.EscapedPath()) }
	}
	if c.Skip == nil {
		c.Skip = safeMethod
	}
	if c.Required == nil {
		c.Required = func(*http.Request) bool { return false }
	}
	if c.Headers == nil {
		c.Headers = keptHeaders
	}
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxAnswer = cmp.Or(c.MaxAnswer, 64<<10)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Keep = cmp.Or(c.Keep, 24*time.Hour)
	c.ProblemType = cmp.Or(c.ProblemType, "about:blank")
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Failed == nil {
		c.Failed = c.writeProblem
	}
	return c
}

// serve reserves the key and runs the request, or answers in place of the handler.
func (c IdempotencyConfig) serve(
	store IdempotencyStore, next http.Handler, w http.ResponseWriter, r *http.Request, keys []string,
) {
	if insideTransaction(r.Context()) {
		c.refuse(w, r, ErrOrder)
		return
	}
	key, err := idempotency.ParseHeader(keys)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	digest, err := takeFingerprint(r, c.MaxBody)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	own := &run{store: store, config: c, owner: uuid.New(), fingerprint: digest, key: idempotency.Key{
		Principal: c.Principal(r), Method: r.Method, Route: c.Route(r), Value: key,
	}}
	record, err := store.Reserve(r.Context(), idempotency.Reservation{
		Key: own.key, Owner: own.owner, Fingerprint: digest, Lease: c.Lease,
	})
	switch {
	case err != nil:
		c.refuse(w, r, &storeError{err})
	case record.Owner == own.owner:
		own.serve(next, w, r)
	case record.Fingerprint != digest:
		c.refuse(w, r, ErrKeyReused)
	case record.Answer == nil:
		c.refuse(w, r, ErrKeyRunning)
	case record.Answer.Omitted:
		c.refuse(w, r, ErrAnswerOmitted)
	default:
		replay(w, record.Answer)
	}
}

// serve runs the request, whose key is now its own, and frees the key unless the answer was recorded.
func (r *run) serve(next http.Handler, w http.ResponseWriter, req *http.Request) {
	ctx := context.WithValue(req.Context(), runKey{}, r)
	ctx = outbox.WithIDs(ctx, r.key.MessageIDs(r.fingerprint))
	defer r.release(ctx) // also after a panic
	g := newGuard(w, req, r)
	next.ServeHTTP(g, req.WithContext(ctx))
	g.finish()
}

// replay answers as the request was answered when it ran.
func replay(w http.ResponseWriter, a *idempotency.Answer) {
	maps.Copy(w.Header(), cloneHeader(a.Header))
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.Status)
	if len(a.Body) > 0 {
		_, _ = w.Write(a.Body) // it fails when the client has gone, and then nobody is left to be told
	}
}

func cloneHeader(h map[string][]string) http.Header {
	c := make(http.Header, len(h))
	for name, values := range h {
		c[name] = slices.Clone(values)
	}
	return c
}
