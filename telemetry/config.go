package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// scope names this package among those whose metrics and spans an application exports.
const scope = "github.com/postroom/postroom/telemetry"

// Config says where metrics and spans go. The zero value works.
type Config struct {
	// Name tells the outboxes of an application apart, in the attribute outbox.name. Defaults to "outbox".
	Name string
	// System is the broker in the words of the conventions, such as "kafka" or "rabbitmq". Defaults to "_OTHER".
	System string
	// MeterProvider makes the instruments. Defaults to OpenTelemetry's global one.
	MeterProvider metric.MeterProvider
	// TracerProvider makes the spans. Defaults to OpenTelemetry's global one.
	TracerProvider trace.TracerProvider
	// Propagator writes the headers that carry a trace. Defaults to W3C trace context and baggage, and not to the global
	// one, which carries nothing unless it was set.
	Propagator propagation.TextMapPropagator
	// Topics bounds how many topics metrics tell apart: those that come later share the name "_OTHER". Defaults to 100.
	Topics int
	// Logger gets the error of a look at the store that failed. Defaults to slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, "outbox")
	c.System = cmp.Or(c.System, other)
	c.Topics = cmp.Or(c.Topics, 100)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Propagator == nil {
		c.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	return c
}

// Telemetry makes the metrics and spans of one outbox. It is safe for concurrent use, and may serve several relays and
// stores: they add up under its name.
type Telemetry struct {
	config      Config
	tracer      trace.Tracer
	instruments *instruments
	topics      *topics
	watches     watches
}

// New makes the instruments. The error is that of the meter provider, or of a field of config.
func New(config Config) (*Telemetry, error) {
	if config.Topics < 0 {
		return nil, errors.New("telemetry: Topics is negative: leave it 0 for 100")
	}
	config = config.withDefaults()
	meter := config.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	made, err := newInstruments(meter)
	if err != nil {
		return nil, fmt.Errorf("telemetry: make instruments: %w", err)
	}
	t := &Telemetry{
		config:      config,
		tracer:      config.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		instruments: made,
		topics:      newTopics(config.Topics),
	}
	if _, err := meter.RegisterCallback(t.observe, made.observed...); err != nil {
		return nil, fmt.Errorf("telemetry: register instruments: %w", err)
	}
	for _, c := range []metric.Int64Counter{made.uncertain, made.claimsLost, made.leasesLost} {
		c.Add(context.Background(), 0, t.with()) // or else their first event would be no increase
	}
	return t, nil
}
