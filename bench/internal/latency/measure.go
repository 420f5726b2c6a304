package latency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// Result is what a load came to.
type Result struct {
	Took    time.Duration // from the first write until the last arrival
	Figures map[string]float64
	Arrived load.Verdict
}

// The figures, in milliseconds, each followed by _ms: percentiles of the time from the return of the commit until a
// consumer has the message, and of the time since it was to be written.
const (
	P50      = "p50_ms"
	P99      = "p99_ms"
	P999     = "p999_ms"
	Max      = "max_ms"
	intended = "intended_"
)

// Measure writes w into flow, rate messages a second or, for 0, as many as it takes, and waits until all have arrived.
func Measure(
	ctx context.Context, flow subject.Flow, to servers.Destination, w load.Workload, rate float64,
) (r Result, err error) {
	t, queues, err := newTrace(w, subject.Writers)
	if err != nil {
		return r, err
	}
	stop, err := to.Follow(ctx, t.arrive)
	if err != nil {
		return r, err
	}
	if err = write(ctx, flow, t, queues, rate); err == nil {
		err = errors.Join(await(ctx, t), flow.Settled(ctx), t.quiet(ctx))
	}
	err = errors.Join(err, stop())
	if err != nil {
		return r, fmt.Errorf("offer %s: %w", w, err)
	}
	return Result{Took: t.span(), Figures: t.figures(warm(w, rate)), Arrived: t.checker.Verdict()}, nil
}

// warm is how many messages the first second brings, up to a tenth of all.
func warm(w load.Workload, rate float64) int { return min(int(rate), w.Messages/10) }

// write lets each writer write its messages at their times.
func write(ctx context.Context, flow subject.Flow, t *trace, queues [][]queued, rate float64) error {
	group, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for writer, queue := range queues {
		group.Go(func() error {
			for _, m := range queue {
				due := time.Now()
				if rate > 0 {
					due = begin.Add(time.Duration(float64(m.number) / rate * float64(time.Second)))
				}
				if err := waitUntil(ctx, due); err != nil {
					return err
				}
				t.begin(m.number, due)
				if err := flow.Write(ctx, writer, m.Message, func() { t.commit(m.number) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func waitUntil(ctx context.Context, due time.Time) error {
	ahead := time.Until(due)
	if ahead <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func await(ctx context.Context, t *trace) error {
	select {
	case <-t.all:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the last message: %w", ctx.Err())
	}
}

// quiet waits until nothing has come for a while, not even a second copy.
func (t *trace) quiet(ctx context.Context) error {
	const silence = 300 * time.Millisecond
	for {
		if err := waitUntil(ctx, t.latest().Add(silence)); err != nil {
			return err
		}
		if time.Since(t.latest()) >= silence {
			return nil
		}
	}
}

func (t *trace) figures(warm int) map[string]float64 {
	since := percentiles("", t.histogram(warm, func(at times) time.Duration { return at.arrived.Sub(at.committed) }))
	maps.Copy(since, percentiles(intended,
		t.histogram(warm, func(at times) time.Duration { return at.arrived.Sub(at.intended) })))
	return since
}

func percentiles(prefix string, h *hdrhistogram.Histogram) map[string]float64 {
	milliseconds := func(us int64) float64 { return float64(us) / 1_000 }
	return map[string]float64{
		prefix + P50:  milliseconds(h.ValueAtQuantile(50)),
		prefix + P99:  milliseconds(h.ValueAtQuantile(99)),
		prefix + P999: milliseconds(h.ValueAtQuantile(99.9)),
		prefix + Max:  milliseconds(h.Max()),
	}
}
