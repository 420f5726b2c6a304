package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/postroom/postroom/outbox"
)

// Headers makes a span named create for m, a child of the span in ctx, and returns the headers that carry it to
// consumers: traceparent, tracestate and baggage. Put it into the Headers of a store's configuration. A message that
// brings headers of a trace keeps them, and gets no span. One whose headers would become too many gets none either:
// what is only for observers makes no enqueue fail.
func (t *Telemetry) Headers(ctx context.Context, m *outbox.Message) []outbox.Header {
	if t.carries(m) {
		return nil
	}
	ctx, span := t.tracer.Start(ctx, "create "+m.Topic,
		trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(
			semconv.MessagingOperationName("create"), semconv.MessagingOperationTypeCreate,
			semconv.MessagingSystemKey.String(t.config.System), semconv.MessagingDestinationName(m.Topic)))
	defer span.End()
	c := &carrier{}
	t.config.Propagator.Inject(ctx, c)
	if size(c.headers)+size(m.Headers) > outbox.MaxHeaderBytes {
		return nil
	}
	return c.headers
}

// carries reports whether m has a header of a trace already. Baggage is none: it may come with any trace.
func (t *Telemetry) carries(m *outbox.Message) bool {
	fields := t.config.Propagator.Fields()
	return slices.ContainsFunc(m.Headers, func(h outbox.Header) bool {
		return h.Name != "baggage" && slices.Contains(fields, h.Name)
	})
}

func size(headers []outbox.Header) int {
	n := 0
	for _, h := range headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// carrier lets a propagator read and write headers. It never changes those that it was made with.
type carrier struct {
	headers []outbox.Header
}

var _ propagation.TextMapCarrier = (*carrier)(nil)

func (c *carrier) Get(name string) string {
	for _, h := range c.headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func (c *carrier) Set(name, value string) {
	if value != "" {
		c.headers = append(c.headers, outbox.Header{Name: name, Value: value})
	}
}

func (c *carrier) Keys() []string {
	names := make([]string, len(c.headers))
	for i, h := range c.headers {
		names[i] = h.Name
	}
	return names
}
