package middleware

import (
	"errors"
	"net/http"

	"github.com/postroom/postroom/outbox"
)

// What [IdempotencyConfig.Failed] gets, besides an [*outbox.FieldError] for a key outside its bounds (status 400).
var (
	// ErrKeyMissing: 400, the request needs an Idempotency-Key and has none.
	ErrKeyMissing = errors.New("middleware: no Idempotency-Key: send one, the same with every try of a request")
	// ErrKeyRunning: 409, a request with this key is running. Try again when it has ended.
	ErrKeyRunning = errors.New("middleware: a request with this Idempotency-Key is running: try again later")
	// ErrKeyReused: 422, the key was used for a request with another path, query or body.
	ErrKeyReused = errors.New("middleware: this Idempotency-Key was used for another request: use a new one")
	// ErrAnswerOmitted: 422, the request has run, its answer was too large to be kept, and it does not run again.
	ErrAnswerOmitted = errors.New("middleware: the request has run and its answer was too large to be kept")
	// ErrBodyTooLarge: 413, the body exceeds MaxBody.
	ErrBodyTooLarge = errors.New("middleware: the body is too large for a request with an Idempotency-Key")
	// ErrBodyUnread: 400, the body could not be read to its end.
	ErrBodyUnread = errors.New("middleware: the body could not be read")
	// ErrOrder: 500, Idempotency was called inside Transaction. Mount it outside.
	ErrOrder = errors.New("middleware: Idempotency runs inside a Transaction: mount it outside")
	// ErrNoTransaction: 500, the request was answered below 400 without a Transaction inside Idempotency. Mount one, or
	// let IdempotencyConfig.Skip name the route.
	ErrNoTransaction = errors.New(
		"middleware: a request with an Idempotency-Key ran without a transaction: mount Transaction inside Idempotency")
)

// storeError is an error of an IdempotencyStore, before anything has run.
type storeError struct{ err error }

func (e *storeError) Error() string {
	return "middleware: reserve an idempotency key: " + e.err.Error()
}
func (e *storeError) Unwrap() error { return e.err }

// refusal is what a client is told about an error.
type refusal struct {
	status int
	detail string
}

func refusalOf(err error) refusal {
	if _, ok := errors.AsType[*storeError](err); ok {
		return refusal{http.StatusServiceUnavailable, "The request was not run. Send it again with the same Idempotency-Key."}
	}
	if _, ok := errors.AsType[*outbox.FieldError](err); ok {
		return refusal{http.StatusBadRequest, "The Idempotency-Key must be one string, in quotes or bare, " +
			"of 1 to 255 printable ASCII characters."}
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			return known.refusal
		}
	}
	return refusal{http.StatusInternalServerError, "The request was not completed."}
}

var refusals = []struct {
	err error
	refusal
}{
	{ErrKeyMissing, refusal{http.StatusBadRequest, "This request needs an Idempotency-Key header. " +
		"Send a new random value with each request, and the same one when you send it again."}},
	{ErrBodyUnread, refusal{http.StatusBadRequest, "The request's body could not be read. The request was not run."}},
	{ErrKeyRunning, refusal{http.StatusConflict, "A request with this Idempotency-Key is being processed. " +
		"Send it again in a moment, with the same key."}},
	{ErrBodyTooLarge, refusal{http.StatusRequestEntityTooLarge, "The request's body is too large " +
		"for a request with an Idempotency-Key. The request was not run."}},
	{ErrKeyReused, refusal{http.StatusUnprocessableEntity, "This Idempotency-Key was used for a request " +
		"with another path, query or body. Use a new key for a new request."}},
	{ErrAnswerOmitted, refusal{http.StatusUnprocessableEntity, "The request with this Idempotency-Key was completed. " +
		"Its answer was too large to be kept, and it is not run again."}},
}

// refuse answers in place of the handler, and logs what is wrong on this side.
func (c IdempotencyConfig) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := refusalOf(err).status
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		c.Logger.ErrorContext(r.Context(), "middleware: idempotent request was not answered as it should be",
			"method", r.Method, "path", r.URL.Path, "error", err)
	}
	if status == http.StatusConflict {
		w.Header().Set("Retry-After", "1")
	}
	c.Failed(w, r, status, err)
}

func (c IdempotencyConfig) writeProblem(w http.ResponseWriter, _ *http.Request, status int, err error) {
	sendProblem(w, problem{
		Type: c.ProblemType, Title: http.StatusText(status), Status: status, Detail: refusalOf(err).detail,
	})
}
