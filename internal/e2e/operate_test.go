package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
	"github.com/postroom/postroom/telemetry/health"
)

// operated is an application whose outbox somebody watches.
type operated struct {
	*app
	tel     *telemetry.Telemetry
	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	reader  *sdkmetric.ManualReader
}

func newOperated(t *testing.T, c combination) *operated {
	t.Helper()
	o := &operated{
		app: newApp(t, c, newTopic), spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader(),
	}
	o.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(o.spans))
	var err error
	o.tel, err = telemetry.New(telemetry.Config{
		TracerProvider: o.tracers, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader)),
		Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	o.store, err = gormstore.Open(open(t, o.database.dialector()), gormstore.Config{Headers: o.tel.Headers})
	must(t, err)
	return o
}

// metric returns the largest value of a metric that has a text among its attributes, or -1.
func (o *operated) metric(t *testing.T, name, text string) float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	must(t, o.reader.Collect(t.Context(), &all))
	largest := -1.0
	add := func(attributes string, value float64) {
		if strings.Contains(attributes, text) {
			largest = max(largest, value)
		}
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(fmt.Sprint(p.Attributes.ToSlice()), float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(fmt.Sprint(p.Attributes.ToSlice()), p.Value)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(fmt.Sprint(p.Attributes.ToSlice()), float64(p.Value))
				}
			}
		}
	}
	return largest
}

// refusing is a broker that takes nothing until it is told to.
type refusing struct {
	outbox.Publisher
	well atomic.Bool
}

func (r *refusing) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	if r.well.Load() {
		return r.Publisher.Publish(ctx, messages)
	}
	results := make([]outbox.Result, len(messages))
	for i := range results {
		results[i] = outbox.Failed(outbox.Permanent(errors.New("refused")))
	}
	return results
}

// recoversParked follows a message by metrics, health and traces: refused, parked, requeued, delivered.
func recoversParked(t *testing.T, c combination) {
	o := newOperated(t, c)
	consumer := o.broker.record(t, o.topic)
	broker := &refusing{Publisher: o.broker.publisher(t)}
	relay, err := outbox.NewRelay(o.store, o.tel.Publisher(broker), outbox.RelayConfig{
		Observer: o.tel.Observer(), Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	checks := health.New(health.Config{Store: o.store, MaxParked: -1, Every: time.Nanosecond}, relay)
	defer o.tel.Watch(o.store, relay)()
	runRelay(t, relay)

	ctx, request := o.tracers.Tracer("shop").Start(t.Context(), "POST /orders")
	first, second := o.message(t, "c-1", 1), o.message(t, "c-1", 2)
	must(t, o.tryCommit(ctx, first, second))
	request.End()
	eventually(t, func() string { return lacks(checks.Check(t.Context()), health.CauseParked) })
	if n := o.metric(t, "outbox.settled", "parked"); n != 1 {
		t.Errorf("metrics tell of %v parked messages, want 1", n)
	}

	broker.well.Store(true)
	n, err := o.store.Requeue(t.Context(), outbox.Act{By: "operator", Reason: "the broker takes it now"}, first.ID)
	if n != 1 || err != nil {
		t.Fatalf("requeued %d, %v", n, err)
	}
	arriveInOrder(t, o.app, consumer)
	eventually(t, func() string { return lacks(checks.Check(t.Context())) })
	if n := o.metric(t, "outbox.settled", "delivered"); n != 2 {
		t.Errorf("metrics tell of %v delivered messages, want 2", n)
	}
	checkTraces(t, o, consumer.all(t), request.SpanContext().TraceID().String())
}

// lacks says what a report lacks to be ready, or to have these causes.
func lacks(r health.Report, causes ...health.Cause) string {
	if r.Ready != (len(causes) == 0) || len(r.Problems) != len(causes) {
		return fmt.Sprintf("ready is %v with %v, want %v", r.Ready, r.Problems, causes)
	}
	for i, c := range causes {
		if r.Problems[i].Cause != c {
			return fmt.Sprintf("got %v, want %v", r.Problems, causes)
		}
	}
	return ""
}

// checkTraces wants every delivery in the trace of its request, and a send span that links to it.
func checkTraces(t *testing.T, o *operated, deliveries []delivery, trace string) {
	t.Helper()
	linked := make(map[string]bool)
	for _, s := range o.spans.GetSpans() {
		for _, l := range s.Links {
			linked[l.SpanContext.SpanID().String()] = true
		}
	}
	for _, d := range deliveries {
		parts := strings.Split(d.trace, "-")
		if len(parts) != 4 || parts[1] != trace || !linked[parts[2]] {
			t.Errorf("%v has the traceparent %q, want trace %s and a span that a send span links to", d, d.trace, trace)
		}
	}
}

// noticesNobody stores a message that no relay takes, and asks a process without one.
func noticesNobody(t *testing.T, c combination) {
	o := newOperated(t, c)
	checks := health.New(health.Config{Store: o.store, MaxAge: time.Millisecond, Every: time.Nanosecond})
	defer o.tel.Watch(o.store)()
	if r := checks.Check(t.Context()); !r.Ready {
		t.Fatalf("an empty outbox is not ready: %v", r.Problems)
	}
	o.commit(t, o.message(t, "c-1", 1))
	eventually(t, func() string { return lacks(checks.Check(t.Context()), health.CauseOld) })
	young := o.metric(t, "outbox.oldest.age", "")
	eventually(t, func() string {
		if old := o.metric(t, "outbox.oldest.age", ""); young < 0 || old <= young {
			return fmt.Sprintf("the age went from %v to %v", young, old)
		}
		return ""
	})
	if n := o.metric(t, "outbox.sessions", ""); n != 0 {
		t.Errorf("metrics tell of %v sessions, want 0", n)
	}

	o.relay(t, outboxDefaults)
	eventually(t, func() string { return lacks(checks.Check(t.Context())) })
}
