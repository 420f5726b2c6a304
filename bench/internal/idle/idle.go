// Package idle measures what a relay costs while nothing happens.
package idle

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/postroom/postroom/bench/internal/subject"
	"github.com/postroom/postroom/outbox"
)

// The figures.
const (
	Statements = "statements_per_s"
	Mallocs    = "allocations_per_s"
	Growth     = "heap_growth_kb" // of what is in use after a collection, during the whole window
)

// A relay that has nothing to do polls ever more slowly, for some seconds; then three of its renewals are watched.
const (
	settling = 5 * time.Second
	window   = 15 * time.Second
)

// Measure runs a relay on an empty table.
func Measure(ctx context.Context, site subject.Site) (figures map[string]float64, err error) {
	config, err := pgx.ParseConfig(site.Database)
	if err != nil {
		return nil, errors.New("read the URL of PostgreSQL: it is malformed") // the cause would show the password
	}
	sent := &tally{}
	config.Tracer = sent
	s, err := subject.StoreOn(ctx, stdlib.OpenDB(*config))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- subject.RunRelay(running, subject.OursKafka, s, site, outbox.RelayConfig{}, nil, nil) }()
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}
	mallocs, heap := memory()
	statements := sent.all.Load()
	if err := pause(ctx, window); err != nil {
		return nil, err
	}
	statements = sent.all.Load() - statements
	later, larger := memory()
	return map[string]float64{
		Statements: float64(statements) / window.Seconds(),
		Mallocs:    float64(later-mallocs) / window.Seconds(),
		Growth:     (float64(larger) - float64(heap)) / 1024,
	}, nil
}

// memory returns how much was ever allocated, and how many bytes are in use.
func memory() (mallocs, inUse uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mallocs = m.Mallocs
	runtime.GC()
	runtime.GC() // pools give up what they hold at the second
	runtime.ReadMemStats(&m)
	return mallocs, m.HeapAlloc
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("watch an idle relay: %w", ctx.Err())
	}
}

// tally counts the statements of a pool.
type tally struct{ all atomic.Int64 }

// TraceQueryStart counts one.
func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.all.Add(1)
	return ctx
}

// TraceQueryEnd has nothing to do.
func (*tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
