package telemetry_test

import (
	"context"
	"errors"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry"
)

// The backlog is counted in the store, also where no relay lives. A program gives the provider that it exports by, and
// its own store and relay.
func Example() {
	ctx, reader := context.Background(), sdkmetric.NewManualReader()
	tel, err := telemetry.New(telemetry.Config{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memstore.New(memstore.Config{})
	err = store.InTransaction(ctx, func(ctx context.Context) error {
		return store.Enqueue(ctx, &outbox.Message{Topic: "orders", Key: "c-1", Type: "OrderPlaced"})
	})
	stop := tel.Watch(store)
	defer stop()

	var collected metricdata.ResourceMetrics
	if err := errors.Join(err, reader.Collect(ctx, &collected)); err != nil {
		fmt.Println(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if gauge, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "outbox.backlog.messages" {
			for _, point := range gauge.DataPoints {
				if point.Value > 0 {
					status, _ := point.Attributes.Value("outbox.status")
					fmt.Println(status.AsString(), point.Value)
				}
			}
		}
	}
	// Output: pending 1
}
