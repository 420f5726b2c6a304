package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry"
)

// All four parts, of which each works without the others.
func ExampleNew() {
	reader := sdkmetric.NewManualReader() // in a program, an exporter for Prometheus or OTLP
	tel, err := telemetry.New(telemetry.Config{
		System: "kafka", MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	})
	if err != nil {
		slog.Error("no telemetry", "error", err)
		return
	}
	store := memstore.New(memstore.Config{Enqueue: outbox.EnqueueConfig{Headers: tel.Headers}})
	publisher := outbox.PublisherFunc(func(context.Context, *outbox.Message) error { return nil })
	relay, err := outbox.NewRelay(store, tel.Publisher(publisher), outbox.RelayConfig{Observer: tel.Observer()})
	if err != nil {
		slog.Error("no relay", "error", err)
		return
	}
	defer tel.Watch(store, relay)()

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		slog.Error("nothing collected", "error", err)
		return
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if age, ok := m.Data.(metricdata.Gauge[float64]); ok && m.Name == "outbox.oldest.age" {
			fmt.Println(m.Name, age.DataPoints[0].Value)
		}
	}
	// Output: outbox.oldest.age 0
}
