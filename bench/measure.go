package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/postroom/postroom/bench/internal/cpu"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// scene is where a cell is measured: a schema, and a topic or an exchange, of its own.
type scene struct {
	spec        subject.Spec
	site        subject.Site
	database    *servers.Database
	destination servers.Destination
}

// measure makes what a subject needs, measures it, and removes everything again. A subject that breaks down makes a
// sample with an error; servers that do are an error.
func (r *benchRun) measure(
	ctx context.Context, spec subject.Spec, cell results.Cell, repeat int,
) (sample results.Sample, err error) {
	database, err := servers.NewDatabase(ctx, r.at.Postgres)
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, database.Drop()) }()
	destination, err := r.at.NewDestination(ctx, spec.Broker)
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, destination.Delete()) }()
	site := subject.Site{
		Addresses: r.at, Database: database.URL, Destination: destination.Name(), Load: cell.Workload,
		Progress: subject.NewProgress(cell.Workload.Messages),
	}
	sample = results.Sample{Cell: cell, Repeat: repeat, Load: results.LoadAverage()}
	return sample, r.kind(cell)(ctx, scene{spec, site, database, destination}, &sample)
}

// kind is how cells of its kind are measured.
func (r *benchRun) kind(c results.Cell) func(context.Context, scene, *results.Sample) error {
	switch c.Kind {
	case results.Drain:
		return r.drain
	case results.Latency:
		return r.latency
	case results.Relays:
		return r.relays
	case results.Takeover:
		return r.takeover
	case results.Memory:
		return r.memory
	case results.Idle:
		return r.idleRelay
	case results.Enqueue:
		return r.enqueue
	}
	return func(context.Context, scene, *results.Sample) error { return fmt.Errorf("no kind is called %q", c.Kind) }
}

// during calls work within the limit of a measurement, and notes what it used of the processors and wrote to the log.
// What breaks work down is noted, too; an error is one of the servers.
func (r *benchRun) during(
	ctx context.Context, s scene, sample *results.Sample, work func(context.Context) error,
) error {
	stop, err := r.profile(fmt.Sprintf("%s-%d", s.spec.Name, sample.Repeat))
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	meter := r.meter(s.spec.Broker)
	log, errLog := s.database.WAL(ctx)
	used := meter.Seconds()
	broken := work(limited)
	used = meter.Since(used)
	logged, errLogged := s.database.WAL(ctx)
	if err := errors.Join(ctx.Err(), stop(), errLog, errLogged); err != nil {
		return err
	}
	if broken != nil {
		sample.Error = broken.Error()
	}
	sample.CPU = perMessage(used, sample.Workload.Messages)
	sample.WAL = math.Round((logged - log) / float64(sample.Workload.Messages))
	return nil
}

// meter watches the database, and the broker if there is one.
func (r *benchRun) meter(broker servers.Kind) cpu.Meter {
	at := map[string]string{"database": r.at.Postgres}
	switch broker {
	case servers.Kafka:
		at["broker"] = r.at.Kafka[0]
		if r.at.Connect != "" {
			at["connect"] = r.at.Connect
		}
	case servers.RabbitMQ:
		at["broker"] = r.at.AMQP
	}
	return cpu.NewMeter(at)
}

func perMessage(seconds map[string]float64, messages int) map[string]float64 {
	for part, s := range seconds {
		seconds[part] = math.Round(s*1e8/float64(messages)) / 100
	}
	return seconds
}

// clocked notes the rates of a site's clock, and counts at the broker.
func clocked(ctx context.Context, s scene, sample *results.Sample) error {
	sample.Seconds = s.site.Progress.Took().Seconds()
	if sample.Error == "" {
		sample.Rate = float64(sample.Workload.Messages) / sample.Seconds
		sample.Steady = s.site.Progress.Steady()
	}
	if s.spec.Broker == servers.None {
		return nil
	}
	checker := load.NewChecker(sample.Workload)
	if err := s.destination.Count(ctx, checker); err != nil {
		return err
	}
	sample.Arrived = checker.Verdict()
	return nil
}
