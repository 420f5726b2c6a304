package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry"
)

var (
	quiet    = slog.New(slog.NewTextHandler(io.Discard, nil))
	errFault = errors.New("fault")
)

// meter collects what a Telemetry exports.
type meter struct {
	*telemetry.Telemetry
	reader *sdkmetric.ManualReader
}

func newMeter(t *testing.T, config telemetry.Config) *meter {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	config.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	config.Logger = quiet
	tel, err := telemetry.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &meter{tel, reader}
}

// values are what was collected, by name and attributes: "outbox.backlog.messages{outbox.status=parked}". The name of
// the outbox is left out. Of histograms it is the count.
type values map[string]float64

func (m *meter) collect(t *testing.T) values {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := values{}
	for _, s := range all.ScopeMetrics {
		for _, i := range s.Metrics {
			switch data := i.Data.(type) {
			case metricdata.Sum[int64]:
				addPoints(got, i.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				addPoints(got, i.Name, data.DataPoints)
			case metricdata.Gauge[float64]:
				addPoints(got, i.Name, data.DataPoints)
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[i.Name+text(p.Attributes)] = float64(p.Count)
				}
			default:
				t.Fatalf("%s is a %T", i.Name, data)
			}
		}
	}
	return got
}

func addPoints[N int64 | float64](got values, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		got[name+text(p.Attributes)] = float64(p.Value)
	}
}

func text(set attribute.Set) string {
	var pairs []string
	for _, a := range set.ToSlice() {
		if a.Key != "outbox.name" {
			pairs = append(pairs, string(a.Key)+"="+a.Value.AsString())
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// want checks values; a negative one means that there is none.
func (got values) want(t *testing.T, want values) {
	t.Helper()
	for name, w := range want {
		g, there := got[name]
		switch {
		case w < 0 && there:
			t.Errorf("%s: got %v, want none", name, g)
		case w >= 0 && (!there || g != w):
			t.Errorf("%s: got %v (there: %v), want %v", name, g, there, w)
		}
	}
}

// backend is a store whose calls fail while it is down and whose backlog takes pause, and a publisher that answers as
// told.
type backend struct {
	*memstore.Store

	mu      sync.Mutex
	down    bool
	answer  func(m *outbox.Message) outbox.Result
	pause   time.Duration
	queries int
	running int
	most    int // queries at once
}

func newBackend() *backend {
	return &backend{
		Store:  memstore.New(memstore.Config{}),
		answer: func(*outbox.Message) outbox.Result { return outbox.Accepted },
	}
}

func (b *backend) set(change func(b *backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *backend) broken() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return errFault
	}
	return nil
}

func (b *backend) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	if err := b.broken(); err != nil {
		return outbox.Lanes{}, err
	}
	return b.Store.AcquireLanes(ctx, r)
}

func (b *backend) RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error {
	if err := b.broken(); err != nil {
		return err
	}
	return b.Store.RenewLanes(ctx, session, lease)
}

func (b *backend) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	if err := b.broken(); err != nil {
		return outbox.Claim{}, err
	}
	return b.Store.Claim(ctx, r)
}

func (b *backend) Backlog(ctx context.Context) (outbox.Backlog, error) {
	b.set(func(b *backend) { b.queries++; b.running++; b.most = max(b.most, b.running) })
	defer b.set(func(b *backend) { b.running-- })
	b.mu.Lock()
	pause := b.pause
	b.mu.Unlock()
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return outbox.Backlog{}, ctx.Err()
	}
	if err := b.broken(); err != nil {
		return outbox.Backlog{}, err
	}
	return b.Store.Backlog(ctx)
}

func (b *backend) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	var results []outbox.Result
	for _, m := range messages {
		results = append(results, b.answer(m))
	}
	return results
}

func (b *backend) enqueue(t *testing.T, messages ...*outbox.Message) {
	t.Helper()
	err := b.InTransaction(t.Context(), func(ctx context.Context) error { return b.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

func message(topic, key string) *outbox.Message {
	return &outbox.Message{Topic: topic, Type: "OrderPlaced", Key: key, Payload: []byte("payload")}
}

// run starts a relay over b, which stop ends.
func run(t *testing.T, b *backend, config outbox.RelayConfig) (r *outbox.Relay, stop func()) {
	t.Helper()
	config.Logger = quiet
	r, err := outbox.NewRelay(b, b, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the relay ended: %v", err)
		}
	}
}

func refuse(err error) func(*outbox.Message) outbox.Result {
	return func(*outbox.Message) outbox.Result { return outbox.Failed(err) }
}

func keys(v values) []string {
	var all []string
	for k := range v {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
