package outbox

import (
	"context"

	"github.com/google/uuid"
)

type (
	correlationKey struct{}
	tenantKey      struct{}
	idsKey         struct{}
)

// WithCorrelationID returns a context whose enqueued messages carry id in the header correlation_id, unless they
// have one of their own.
func WithCorrelationID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// CorrelationID returns the correlation id that ctx carries, or "".
func CorrelationID(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}

// WithTenant returns a context whose enqueued messages belong to tenant, unless they name one of their own.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Tenant returns the tenant that ctx carries, or "".
func Tenant(ctx context.Context) string {
	t, _ := ctx.Value(tenantKey{}).(string)
	return t
}

// WithIDs returns a context whose enqueued messages take their ids from next, so that a repeated request can give
// the same ids again. Messages that bring an id keep it.
func WithIDs(ctx context.Context, next func() uuid.UUID) context.Context {
	return context.WithValue(ctx, idsKey{}, next)
}

// NextID returns the next id that [WithIDs] has ctx give, or false when ids are not given by ctx. It is for code that
// makes messages with ids of their own, such as adapters of other message types.
func NextID(ctx context.Context) (uuid.UUID, bool) {
	next, ok := ctx.Value(idsKey{}).(func() uuid.UUID)
	if !ok {
		return uuid.Nil, false
	}
	return next(), true
}

// newID returns the id of a message enqueued under ctx.
func newID(ctx context.Context) (uuid.UUID, error) {
	if id, ok := NextID(ctx); ok {
		return id, nil
	}
	return uuid.NewV7()
}
