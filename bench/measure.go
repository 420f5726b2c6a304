package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/postroom/postroom/bench/internal/condition"
	"github.com/postroom/postroom/bench/internal/cpu"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// measure makes what a subject needs, lets it fill its table, takes the time of its drain, counts at the broker, and
// removes everything again. A subject that breaks down makes a sample with an error; servers that do are an error.
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

	sample = results.Sample{Cell: cell, Repeat: repeat, Load: results.LoadAverage()}
	site := subject.Site{
		Addresses: r.at, Database: database.URL, Destination: destination.Name(), Load: cell.Workload,
		Progress: subject.NewProgress(cell.Workload.Messages),
	}
	if err := r.drain(ctx, spec, site, database, &sample); err != nil {
		return sample, err
	}
	if spec.Broker == servers.None {
		return sample, nil
	}
	checker := load.NewChecker(cell.Workload)
	if err := destination.Count(ctx, checker); err != nil {
		return sample, err
	}
	sample.Arrived = checker.Verdict()
	return sample, nil
}

// drain is the part of a measurement in which the subject is at work.
func (r *benchRun) drain(
	ctx context.Context, spec subject.Spec, site subject.Site, database *servers.Database, sample *results.Sample,
) (err error) {
	s, err := spec.Open(ctx, site)
	if err != nil {
		return fmt.Errorf("open the subject: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := condition.Prepare(ctx, sample.Condition, s); err != nil {
		return fmt.Errorf("prepare for %s: %w", sample.Condition, err)
	}
	if err := s.Fill(ctx); err != nil {
		return err
	}
	if err := database.Ready(ctx); err != nil {
		return err
	}
	end, err := condition.Begin(ctx, sample.Condition, site.Database)
	if err != nil {
		return fmt.Errorf("begin %s: %w", sample.Condition, err)
	}
	defer func() { err = errors.Join(err, end()) }()
	return r.work(ctx, spec, s, site, database, sample)
}

// work is what is measured.
func (r *benchRun) work(
	ctx context.Context, spec subject.Spec, s subject.Subject, site subject.Site, database *servers.Database,
	sample *results.Sample,
) error {
	stop, err := r.profile(fmt.Sprintf("%s-%d", spec.Name, sample.Repeat))
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	meter := r.meter(spec.Broker)
	log, errLog := database.WAL(ctx)
	used := meter.Seconds()
	broken := s.Drain(limited)
	used = meter.Since(used)
	logged, errLogged := database.WAL(ctx)
	if err := errors.Join(ctx.Err(), stop(), errLog, errLogged); err != nil {
		return err
	}
	sample.CPU = perMessage(used, sample.Workload.Messages)
	sample.WAL = math.Round((logged - log) / float64(sample.Workload.Messages))
	fillIn(sample, site, broken)
	return nil
}

// meter watches the database, and the broker if there is one.
func (r *benchRun) meter(broker servers.Kind) cpu.Meter {
	at := map[string]string{"database": r.at.Postgres}
	switch broker {
	case servers.Kafka:
		at["broker"] = r.at.Kafka[0]
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

func fillIn(sample *results.Sample, site subject.Site, broken error) {
	sample.Seconds = site.Progress.Took().Seconds()
	if broken != nil {
		sample.Error = broken.Error()
		return
	}
	sample.Rate = float64(sample.Workload.Messages) / sample.Seconds
	sample.Steady = site.Progress.Steady()
}
