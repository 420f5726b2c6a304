package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
)

// benchRun is all measurements of one call of the command.
type benchRun struct {
	options
	steps []step
	at    servers.Addresses
	path  string
	file  *results.File
}

// newRun opens the results, and notes what the measurements are made on.
func newRun(ctx context.Context, o options, steps []step, at servers.Addresses) (*benchRun, error) {
	path := filepath.Join(o.dir, o.run+".json")
	file, err := results.Open(path)
	if err != nil {
		return nil, err
	}
	versions, err := at.Versions(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(versions, results.ModuleVersions(modules()...))
	machine := results.ThisMachine()
	if len(file.Samples) == 0 {
		file.Started = time.Now().UTC().Truncate(time.Second)
	} else if file.Machine != machine || !maps.Equal(file.Versions, versions) {
		return nil, fmt.Errorf("go on with run %s: it was made on another machine or with other versions", o.run)
	}
	file.Run, file.Machine, file.Versions = o.run, machine, versions
	return &benchRun{options: o, steps: steps, at: at, path: path, file: file}, nil
}

// modules are those whose versions matter.
func modules() []string {
	return []string{
		"github.com/ThreeDotsLabs/watermill",
		"github.com/ThreeDotsLabs/watermill-amqp/v3",
		"github.com/ThreeDotsLabs/watermill-kafka/v3",
		"github.com/ThreeDotsLabs/watermill-sql/v4",
		"github.com/jackc/pgx/v5",
		"github.com/rabbitmq/amqp091-go",
		"github.com/riverqueue/river",
		"github.com/twmb/franz-go",
	}
}

// measureAll lets the subjects take turns (A B, then B A), so that what changes on the machine meanwhile meets all of
// them, and saves after each.
func (r *benchRun) measureAll(ctx context.Context) error {
	fmt.Printf("run %s: %d cells × %d repeats, results in %s\n", r.options.run, len(r.steps), r.repeats, r.path)
	for repeat := 1; repeat <= r.repeats; repeat++ {
		for _, s := range turn(r.steps, repeat) {
			if s.most > 0 && repeat > s.most {
				continue
			}
			if err := r.measureOnce(ctx, s, repeat); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *benchRun) measureOnce(ctx context.Context, s step, repeat int) error {
	if r.file.Has(s.cell, repeat) {
		return nil
	}
	quiet, cancel := context.WithTimeout(ctx, r.limit)
	results.WaitIdle(quiet, r.idle)
	cancel()
	sample, err := r.measure(ctx, s.spec, s.cell, repeat)
	if err != nil {
		return fmt.Errorf("measure %s, repeat %d: %w", s.spec.Name, repeat, err)
	}
	fmt.Println(line(sample))
	r.file.Samples = append(r.file.Samples, sample)
	r.file.Summarize()
	r.file.Ratios = report.Ratios(r.comparisons(), r.file.Summaries)
	r.file.Absolutes = report.Absolutes(r.comparisons(), r.file.Summaries)
	return r.file.Save(r.path)
}

func (r *benchRun) comparisons() []report.Comparison {
	return suites()[r.suite].comparisons(r.options)
}

// turn returns the steps forwards in odd repeats and backwards in even ones.
func turn(steps []step, repeat int) []step {
	steps = slices.Clone(steps)
	if repeat%2 == 0 {
		slices.Reverse(steps)
	}
	return steps
}

func line(s results.Sample) string {
	text := fmt.Sprintf("%2d  %-18s %-14s %8d×%4d B in %7.3f s  %9.0f msg/s  load %.1f  %s  cpu µs %v  WAL B %.0f",
		s.Repeat, s.Subject, s.Condition, s.Workload.Messages, s.Workload.Size, s.Seconds, s.Rate, s.Load, s.Arrived,
		s.CPU, s.WAL)
	if s.Error != "" {
		text += "  FAILED: " + s.Error
	}
	return text
}
