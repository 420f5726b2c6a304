package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/postroom/postroom/bench/internal/condition"
	"github.com/postroom/postroom/bench/internal/cost"
	"github.com/postroom/postroom/bench/internal/idle"
	"github.com/postroom/postroom/bench/internal/latency"
	"github.com/postroom/postroom/bench/internal/relays"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// drain lets a subject fill its table, takes the time of its drain and counts at the broker.
func (r *benchRun) drain(ctx context.Context, s scene, sample *results.Sample) (err error) {
	draining, err := s.spec.Open(ctx, s.site)
	if err != nil {
		return fmt.Errorf("open the subject: %w", err)
	}
	defer func() { err = errors.Join(err, draining.Close()) }()
	if err := condition.Prepare(ctx, sample.Condition, draining); err != nil {
		return fmt.Errorf("prepare for %s: %w", sample.Condition, err)
	}
	if err := draining.Fill(ctx); err != nil {
		return err
	}
	if err := s.database.Ready(ctx); err != nil {
		return err
	}
	end, err := condition.Begin(ctx, sample.Condition, s.site.Database)
	if err != nil {
		return fmt.Errorf("begin %s: %w", sample.Condition, err)
	}
	if err := errors.Join(r.during(ctx, s, sample, draining.Drain), end()); err != nil {
		return err
	}
	return clocked(ctx, s, sample)
}

// latency offers a flow what the condition says.
func (r *benchRun) latency(ctx context.Context, s scene, sample *results.Sample) (err error) {
	rate, err := latency.Rate(sample.Condition, r.flatOut(s.spec.Broker))
	if err != nil {
		return err
	}
	flow, err := s.spec.Flow(ctx, s.site)
	if err != nil {
		return fmt.Errorf("open the flow: %w", err)
	}
	defer func() { err = errors.Join(err, flow.Close()) }()
	var result latency.Result
	err = r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		result, err = latency.Measure(ctx, flow, s.destination, sample.Workload, rate)
		return err
	})
	fillIn(sample, result)
	return err
}

// flatOut is the rate that ours could keep up on a broker in this run; 0 if that was not measured yet.
func (r *benchRun) flatOut(broker servers.Kind) float64 {
	for _, s := range r.file.Summaries {
		ours := s.Subject == subject.OursKafka && broker == servers.Kafka ||
			s.Subject == subject.OursAMQP && broker == servers.RabbitMQ
		if ours && s.Kind == results.Latency && s.Condition == latency.FlatOut {
			return s.Rate.Median
		}
	}
	return 0
}

func fillIn(sample *results.Sample, result latency.Result) {
	sample.Seconds, sample.Figures, sample.Arrived = result.Took.Seconds(), result.Figures, result.Arrived
	if sample.Error == "" {
		sample.Rate = float64(sample.Workload.Messages) / sample.Seconds
	}
}

// relays lets as many relays empty a table as the condition says.
func (r *benchRun) relays(ctx context.Context, s scene, sample *results.Sample) error {
	n, err := strconv.Atoi(strings.TrimSuffix(sample.Condition, relaysWord))
	if err != nil {
		return fmt.Errorf("read the number of relays: %w", err)
	}
	err = r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		sample.Figures, err = relays.Drain(ctx, n, s.spec.Name, s.site)
		return err
	})
	if err != nil {
		return err
	}
	return clocked(ctx, s, sample)
}

// relaysWord comes after their number in a condition.
const relaysWord = " relays"

// takeover ends one of two relays.
func (r *benchRun) takeover(ctx context.Context, s scene, sample *results.Sample) error {
	var result latency.Result
	err := r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		result, err = relays.Takeover(ctx, sample.Condition, s.spec.Name, s.site, s.destination)
		return err
	})
	fillIn(sample, result)
	return err
}

// memory empties a table in a process of its own.
func (r *benchRun) memory(ctx context.Context, s scene, sample *results.Sample) error {
	err := r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		sample.Figures, err = relays.Memory(ctx, s.spec.Name, s.site)
		return err
	})
	if err != nil {
		return err
	}
	return clocked(ctx, s, sample)
}

// idleRelay watches a relay without messages.
func (r *benchRun) idleRelay(ctx context.Context, s scene, sample *results.Sample) error {
	return r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		sample.Figures, err = idle.Measure(ctx, s.site)
		return err
	})
}

// enqueue writes rows in turns.
func (r *benchRun) enqueue(ctx context.Context, s scene, sample *results.Sample) error {
	return r.during(ctx, s, sample, func(ctx context.Context) (err error) {
		sample.Figures, err = cost.Measure(ctx, s.site, sample.Workload)
		return err
	})
}
