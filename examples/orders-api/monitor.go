package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
	"github.com/postroom/postroom/telemetry/health"
)

// monitor shows how the outbox does, in metrics for Prometheus. Spans go to OpenTelemetry's global tracer provider,
// which drops them unless the program sets one.
type monitor struct {
	*telemetry.Telemetry
	registry *prometheus.Registry
}

func newMonitor() (monitor, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return monitor{}, err
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	tel, err := telemetry.New(telemetry.Config{Name: "orders", MeterProvider: meters})
	return monitor{tel, registry}, err
}

// routes tells metrics, and whether relays live and the outbox drains.
func (m monitor) routes(store *gormstore.Store, relays ...*outbox.Relay) func(r chi.Router) {
	checks := health.New(health.Config{Store: store}, relays...)
	return func(r chi.Router) {
		r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
		r.Method(http.MethodGet, "/livez", checks.Live())
		r.Method(http.MethodGet, "/readyz", checks.Ready())
	}
}
