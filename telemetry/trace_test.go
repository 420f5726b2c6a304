package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry"
)

// tracer keeps the spans that have ended.
type tracer struct {
	*meter
	provider *sdktrace.TracerProvider
	spans    *tracetest.InMemoryExporter
}

func newTracer(t *testing.T) *tracer {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return &tracer{newMeter(t, telemetry.Config{System: "kafka", TracerProvider: provider}), provider, spans}
}

// request begins the span of a request.
func (tr *tracer) request(t *testing.T) (context.Context, trace.Span) {
	t.Helper()
	return tr.provider.Tracer("test").Start(t.Context(), "POST /orders", trace.WithSpanKind(trace.SpanKindServer))
}

// store returns a store that asks for headers.
func (tr *tracer) store() *memstore.Store {
	return memstore.New(memstore.Config{Enqueue: outbox.EnqueueConfig{Headers: tr.Headers}})
}

func (tr *tracer) named(name string) (found []tracetest.SpanStub) {
	for _, s := range tr.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func attributes(s []attribute.KeyValue) map[string]any {
	all := make(map[string]any)
	for _, a := range s {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

func header(m *outbox.Message, name string) string {
	for _, h := range m.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// stored enqueues messages in ctx and returns them as they were stored.
func stored(t *testing.T, ctx context.Context, s *memstore.Store, messages ...*outbox.Message) []*outbox.Message {
	t.Helper()
	err := s.InTransaction(ctx, func(ctx context.Context) error { return s.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), outbox.Filter{}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var all []*outbox.Message
	for _, r := range found {
		all = append(all, r.Message)
	}
	return all
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	t.Run("make_a_create_span_below_the_request_and_carry_it", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		ctx, request := tr.request(t)
		m := stored(t, ctx, tr.store(), message("orders", "k"))[0]
		request.End()
		created := tr.named("create orders")
		if len(created) != 1 {
			t.Fatalf("got %d create spans, want 1", len(created))
		}
		c := created[0]
		if c.SpanKind != trace.SpanKindProducer || c.Parent.SpanID() != request.SpanContext().SpanID() {
			t.Errorf("got a %v below %v, want a producer below the request's", c.SpanKind, c.Parent.SpanID())
		}
		want := map[string]any{
			"messaging.operation.name": "create", "messaging.operation.type": "create",
			"messaging.system": "kafka", "messaging.destination.name": "orders",
		}
		if d := cmp.Diff(want, attributes(c.Attributes)); d != "" {
			t.Errorf("attributes: %s", d)
		}
		parent := "00-" + c.SpanContext.TraceID().String() + "-" + c.SpanContext.SpanID().String() + "-01"
		if got := header(m, "traceparent"); got != parent {
			t.Errorf("traceparent: got %q, want %q", got, parent)
		}
	})
	t.Run("make_one_span_for_each_message", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		ctx, request := tr.request(t)
		all := stored(t, ctx, tr.store(), message("orders", "1"), message("orders", "2"))
		request.End()
		if len(tr.named("create orders")) != 2 || header(all[0], "traceparent") == header(all[1], "traceparent") {
			t.Errorf("got %d spans and headers %v and %v", len(tr.named("create orders")), all[0].Headers, all[1].Headers)
		}
	})
	t.Run("carry_state_and_baggage", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		state, err := trace.ParseTraceState("vendor=1")
		if err != nil {
			t.Fatal(err)
		}
		bag, err := baggage.Parse("shop=north")
		if err != nil {
			t.Fatal(err)
		}
		ctx := trace.ContextWithRemoteSpanContext(baggage.ContextWithBaggage(t.Context(), bag),
			trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state,
			}))
		m := stored(t, ctx, tr.store(), message("orders", "k"))[0]
		if header(m, "tracestate") != "vendor=1" || header(m, "baggage") != "shop=north" {
			t.Errorf("got %v", m.Headers)
		}
	})
	t.Run("leave_a_message_alone_that_brings_a_trace", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		ctx, request := tr.request(t)
		own := message("orders", "k")
		own.Headers = []outbox.Header{{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
		m := stored(t, ctx, tr.store(), own)[0]
		request.End()
		if len(tr.named("create orders")) != 0 || !slices.Equal(m.Headers, own.Headers) {
			t.Errorf("got %d spans and %v", len(tr.named("create orders")), m.Headers)
		}
	})
	t.Run("fail_no_enqueue_that_has_no_room_for_them", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		ctx, request := tr.request(t)
		full := message("orders", "k")
		full.Headers = []outbox.Header{{Name: "a", Value: strings.Repeat("x", outbox.MaxHeaderBytes-1)}}
		m := stored(t, ctx, tr.store(), full)[0]
		request.End()
		if len(m.Headers) != 1 {
			t.Errorf("got %d headers, want the message's own", len(m.Headers))
		}
	})
	t.Run("make_no_span_for_a_message_that_is_refused", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		s := tr.store()
		err := s.InTransaction(t.Context(), func(ctx context.Context) error {
			return s.Enqueue(ctx, &outbox.Message{Topic: "orders"})
		})
		if err == nil || len(tr.spans.GetSpans()) != 0 {
			t.Errorf("got %v and %d spans, want an error and none", err, len(tr.spans.GetSpans()))
		}
	})
}

// keeper is a publisher with everything that a publisher may have.
type keeper struct {
	answers []outbox.Result
	closed  bool
}

func (k *keeper) Publish(context.Context, []*outbox.Message) []outbox.Result { return k.answers }
func (k *keeper) KeyOrdered() bool                                           { return true }
func (k *keeper) Close() error                                               { k.closed = true; return errFault }

func (k *keeper) Check(_ context.Context, topics ...string) ([]string, error) {
	return topics, errFault
}

func TestPublisher(t *testing.T) {
	t.Parallel()
	t.Run("makes_a_send_span_that_links_to_the_spans_of_its_messages", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		ctx, request := tr.request(t)
		all := stored(t, ctx, tr.store(), message("orders", "1"), message("orders", "2"))
		request.End()
		tr.Publisher(&keeper{answers: []outbox.Result{outbox.Accepted, outbox.Accepted}}).Publish(t.Context(), all)

		sent := tr.named("send orders")
		if len(sent) != 1 || sent[0].SpanKind != trace.SpanKindClient || sent[0].Parent.IsValid() {
			t.Fatalf("got %+v, want one client span without a parent", sent)
		}
		want := map[string]any{
			"messaging.operation.name": "send", "messaging.operation.type": "send", "messaging.system": "kafka",
			"messaging.destination.name": "orders", "messaging.batch.message_count": int64(2),
		}
		if d := cmp.Diff(want, attributes(sent[0].Attributes)); d != "" {
			t.Errorf("attributes: %s", d)
		}
		if sent[0].Status.Code != codes.Unset || len(sent[0].Links) != 2 {
			t.Fatalf("got %v and %d links", sent[0].Status, len(sent[0].Links))
		}
		for i, created := range tr.named("create orders") {
			link := sent[0].Links[i]
			if link.SpanContext.SpanID() != created.SpanContext.SpanID() ||
				attributes(link.Attributes)["messaging.message.id"] != all[i].ID.String() {
				t.Errorf("link %d: got %+v, want that of message %v", i, link, all[i].ID)
			}
		}
		tr.collect(t).want(t, values{
			"messaging.client.sent.messages{messaging.destination.name=orders,messaging.operation.name=send," +
				"messaging.system=kafka}": 2,
			"messaging.client.operation.duration{messaging.destination.name=orders,messaging.operation.name=send," +
				"messaging.operation.type=send,messaging.system=kafka}": 1,
		})
	})
	t.Run("tells_what_was_not_accepted_and_nothing_of_what_was_not_handed_over", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		k := &keeper{answers: []outbox.Result{outbox.Accepted, outbox.Failed(outbox.Unknown(errors.New("secret"))), {}}}
		tr.Publisher(k).Publish(t.Context(), []*outbox.Message{message("a", "1"), message("b", "2"), message("c", "3")})
		span := tr.named("send")[0]
		if span.Status.Code != codes.Error || span.Status.Description != "1 of 3 messages were not accepted" ||
			attributes(span.Attributes)["error.type"] != "unknown" || len(span.Events) != 0 {
			t.Errorf("got %+v", span)
		}
		const of = "messaging.operation.name=send,messaging.system=kafka}"
		tr.collect(t).want(t, values{
			"messaging.client.sent.messages{messaging.destination.name=a," + of:                    1,
			"messaging.client.sent.messages{error.type=unknown,messaging.destination.name=b," + of: 1,
			"messaging.client.sent.messages{messaging.destination.name=c," + of:                    -1,
			"messaging.client.operation.duration{error.type=unknown,messaging.operation.name=send," +
				"messaging.operation.type=send,messaging.system=kafka}": 1,
		})
	})
	t.Run("bounds_the_links_of_a_large_batch", func(t *testing.T) {
		t.Parallel()
		tr := newTracer(t)
		var all []*outbox.Message
		for range 500 {
			m := message("orders", uuid.NewString())
			m.Headers = tr.Headers(t.Context(), m)
			all = append(all, m)
		}
		tr.Publisher(&keeper{answers: make([]outbox.Result, 500)}).Publish(t.Context(), all)
		if got := tr.named("send orders")[0]; len(got.Links) != 128 || got.DroppedLinks != 0 {
			t.Errorf("got %d links and %d dropped, want 128 and none", len(got.Links), got.DroppedLinks)
		}
	})
	t.Run("keeps_what_the_publisher_can_do", func(t *testing.T) {
		t.Parallel()
		tr, k := newTracer(t), new(keeper)
		p := tr.Publisher(k)
		warnings, err := p.(checker).Check(t.Context(), "a")
		if !outbox.KeyOrdered(p) || !slices.Equal(warnings, []string{"a"}) || !errors.Is(err, errFault) {
			t.Errorf("got key order %v, warnings %v, %v", outbox.KeyOrdered(p), warnings, err)
		}
		if err := p.(closer).Close(); !errors.Is(err, errFault) || !k.closed {
			t.Errorf("Close: got %v, closed %v", err, k.closed)
		}
	})
	t.Run("promises_nothing_that_the_publisher_does_not", func(t *testing.T) {
		t.Parallel()
		p := newTracer(t).Publisher(newBackend())
		warnings, err := p.(checker).Check(t.Context(), "a")
		if outbox.KeyOrdered(p) || warnings != nil || err != nil || p.(closer).Close() != nil {
			t.Errorf("got key order %v, warnings %v, %v", outbox.KeyOrdered(p), warnings, err)
		}
	})
}

type (
	checker interface {
		Check(ctx context.Context, topics ...string) ([]string, error)
	}
	closer interface{ Close() error }
)

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("refuses_a_negative_number_of_topics", func(t *testing.T) {
		t.Parallel()
		if _, err := telemetry.New(telemetry.Config{Topics: -1}); err == nil {
			t.Error("got no error")
		}
	})
	t.Run("works_without_any_configuration", func(t *testing.T) {
		t.Parallel()
		tel, err := telemetry.New(telemetry.Config{})
		if err != nil {
			t.Fatal(err)
		}
		tel.Publisher(newBackend()).Publish(t.Context(), []*outbox.Message{message("orders", "k")})
		tel.Watch(newBackend())()
	})
}
