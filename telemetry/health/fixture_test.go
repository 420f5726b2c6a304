package health_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry/health"
)

var (
	quiet    = slog.New(slog.NewTextHandler(io.Discard, nil))
	errFault = errors.New("dial postgres://user:secret@db: refused")
)

// faulty is a store whose calls fail while it is down, and a publisher that answers as told.
type faulty struct {
	*memstore.Store

	mu      sync.Mutex
	down    bool
	answer  outbox.Result
	pause   time.Duration
	queries int
}

func newFaulty() *faulty {
	return &faulty{Store: memstore.New(memstore.Config{}), answer: outbox.Accepted}
}

func (f *faulty) set(change func(f *faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) broken() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errFault
	}
	return nil
}

func (f *faulty) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	if err := f.broken(); err != nil {
		return outbox.Lanes{}, err
	}
	return f.Store.AcquireLanes(ctx, r)
}

func (f *faulty) RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error {
	if err := f.broken(); err != nil {
		return err
	}
	return f.Store.RenewLanes(ctx, session, lease)
}

func (f *faulty) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	if err := f.broken(); err != nil {
		return outbox.Claim{}, err
	}
	return f.Store.Claim(ctx, r)
}

func (f *faulty) Backlog(ctx context.Context) (outbox.Backlog, error) {
	f.set(func(f *faulty) { f.queries++ })
	if err := f.broken(); err != nil {
		return outbox.Backlog{}, err
	}
	return f.Store.Backlog(ctx)
}

func (f *faulty) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	f.mu.Lock()
	answer, pause := f.answer, f.pause
	f.mu.Unlock()
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return slices.Repeat([]outbox.Result{answer}, len(messages))
}

func (f *faulty) enqueue(t *testing.T, messages ...*outbox.Message) {
	t.Helper()
	err := f.InTransaction(t.Context(), func(ctx context.Context) error { return f.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

func message(key string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte("secret payload")}
}

// run starts a relay from f to f, which stop ends.
func run(t *testing.T, f *faulty, config outbox.RelayConfig) (r *outbox.Relay, stop func() error) {
	t.Helper()
	config.Logger = quiet
	r, err := outbox.NewRelay(f, f, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() error { cancel(); return <-done }
}

func causes(r health.Report) []health.Cause {
	var all []health.Cause
	for _, p := range r.Problems {
		all = append(all, p.Cause)
	}
	return all
}

func want(t *testing.T, r health.Report, live, ready bool, wrong ...health.Cause) {
	t.Helper()
	if r.Live != live || r.Ready != ready || !slices.Equal(causes(r), wrong) {
		t.Errorf("got live %v, ready %v, %v; want live %v, ready %v, %v", r.Live, r.Ready, r.Problems, live, ready, wrong)
	}
}
