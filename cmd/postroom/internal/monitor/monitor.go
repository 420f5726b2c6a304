// Package monitor exports what a relay process does to Prometheus: the metrics of package telemetry, and those of the
// process itself.
package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
)

// Monitor meters one outbox.
type Monitor struct {
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
	outbox   *telemetry.Telemetry
	log      *slog.Logger
	name     string
}

// New meters the outbox of a name.
func New(name string, log *slog.Logger) (*Monitor, error) {
	m := &Monitor{registry: prometheus.NewRegistry(), log: log, name: name}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := exporter.New(exporter.WithRegisterer(m.registry))
	if err != nil {
		return nil, fmt.Errorf("export metrics: %w", err)
	}
	m.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	m.outbox, err = m.of("")
	return m, err
}

// of makes telemetry that names a broker's kind.
func (m *Monitor) of(system string) (*telemetry.Telemetry, error) {
	return telemetry.New(telemetry.Config{Name: m.name, System: system, MeterProvider: m.meters, Logger: m.log})
}

// Publisher meters the calls of p, a publisher to a broker of a kind.
func (m *Monitor) Publisher(p outbox.Publisher, system string) (outbox.Publisher, error) {
	t, err := m.of(system)
	if err != nil {
		return nil, err
	}
	return t.Publisher(p), nil
}

// Observer counts and times what relays do.
func (m *Monitor) Observer() outbox.Observer { return m.outbox.Observer() }

// Watch exports how relay stands and what store holds, until stop is called.
func (m *Monitor) Watch(store outbox.Store, relay *outbox.Relay) (stop func()) {
	return m.outbox.Watch(store, relay)
}

// Handler answers Prometheus.
func (m *Monitor) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: failures{m.log}})
}

// Close ends the metering.
func (m *Monitor) Close() error { return m.meters.Shutdown(context.Background()) }

// failures logs what a collection could not tell.
type failures struct{ log *slog.Logger }

func (f failures) Println(v ...any) {
	f.log.Warn("outbox: metrics could not be collected", "error", fmt.Sprint(v...))
}
