package middleware

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
)

// run is one run of a request that has reserved an idempotency key. Idempotency leaves it in the request's context,
// and the transaction middleware inside records the answer just before it commits. A nil run records nothing.
type run struct {
	store  IdempotencyStore
	config IdempotencyConfig
	key    idempotency.Key
	owner  uuid.UUID

	fingerprint idempotency.Fingerprint

	decided  atomic.Bool // a transaction has ended as the answer told it to
	recorded atomic.Bool // it has committed the answer
	pending  bool        // the open transaction holds the answer
}

type (
	runKey         struct{}
	transactionKey struct{}
)

// runOf returns the run that ctx carries, or nil.
func runOf(ctx context.Context) *run {
	r, _ := ctx.Value(runKey{}).(*run)
	return r
}

// runToRecord returns the run whose answer the transaction that starts under ctx has to record. A transaction inside
// another one leaves that to the outer one, which decides.
func runToRecord(ctx context.Context) *run {
	if insideTransaction(ctx) {
		return nil
	}
	return runOf(ctx)
}

func markTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, true)
}

func insideTransaction(ctx context.Context) bool { return ctx.Value(transactionKey{}) != nil }

// record puts the answer into the transaction that ctx carries.
func (r *run) record(ctx context.Context, a answer) error {
	if r == nil || !isKept(a.status) {
		return nil
	}
	err := r.store.Complete(ctx, idempotency.Completion{
		Key: r.key, Owner: r.owner, Answer: r.config.kept(a), Keep: r.config.Keep,
	})
	if err != nil {
		return fmt.Errorf("record the answer under its idempotency key: %w", err)
	}
	r.pending = true
	return nil
}

func (r *run) rolledBack() {
	if r != nil {
		r.decided.Store(true)
	}
}

func (r *run) committed() {
	if r != nil {
		r.recorded.Store(r.pending)
		r.decided.Store(true)
	}
}

// release frees the key if the answer was not recorded, also when the client has gone. If it cannot, the lease will.
func (r *run) release(ctx context.Context) {
	if r.recorded.Load() {
		return
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := r.store.Release(ctx, r.key, r.owner); err != nil {
		r.config.Logger.WarnContext(ctx, "middleware: idempotency key was not released, its lease will end",
			"lease", r.config.Lease, "error", err)
	}
}

// isKept reports whether an answer of that status is the last word. Another try may have better luck with the others.
func isKept(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return status < http.StatusInternalServerError
}

// kept returns what is stored of an answer.
func (c IdempotencyConfig) kept(a answer) idempotency.Answer {
	k := idempotency.Answer{Status: a.status, Header: make(map[string][]string), Body: a.body}
	size := len(a.body)
	for _, name := range c.Headers {
		name = http.CanonicalHeaderKey(name)
		values := a.header[name]
		if len(values) == 0 || strings.EqualFold(name, "Set-Cookie") {
			continue
		}
		k.Header[name] = values
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if !a.whole || size > c.MaxAnswer {
		return idempotency.Answer{Status: a.status, Omitted: true}
	}
	return k
}
