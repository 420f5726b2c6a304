// Command bench measures how fast the relay empties its table into Kafka and RabbitMQ, beside the raw limits of the
// same servers and beside other ways to do it, in one run on one machine. README.md tells what is compared and how.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/postroom/postroom/bench/internal/relays"
	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/servers"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if relays.Wanted() {
		exit(relays.Main())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	met, err := bench(ctx)
	stop()
	if err == nil && !met {
		err = errMissed
	}
	exit(err)
}

// errMissed: everything was measured, and is not good enough.
var errMissed = errors.New("a target was missed")

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures what is still to be measured, prints what it comes to, and reports whether the targets are met. A run
// of all subjects becomes the latest one of its suite.
func bench(ctx context.Context) (met bool, err error) {
	o, err := parse()
	if err != nil {
		return false, err
	}
	if o.report {
		return true, writeReport(o)
	}
	steps, err := plan(o)
	if err != nil {
		return false, err
	}
	at, err := servers.FromEnvironment()
	if err != nil {
		return false, err
	}
	r, err := newRun(ctx, o, steps, at)
	if err != nil {
		return false, err
	}
	if err := r.measureAll(ctx); err != nil {
		return false, err
	}
	fmt.Println()
	if err := r.table(os.Stdout); err != nil {
		return false, err
	}
	met = report.Verdicts(os.Stdout, r.comparisons(), r.file.Summaries)
	if o.subjects != "" {
		return met, nil
	}
	return met, r.file.Save(filepath.Join(o.dir, suites()[o.suite].keep))
}

func (r *benchRun) table(w io.Writer) error {
	if r.suite == suitePublish {
		return report.PublishTable(w, r.file.Summaries)
	}
	all := r.file.Summaries
	return errors.Join(report.Table(w, all), report.LatencyTable(w, all), report.FigureTable(w, all),
		report.StoreTable(w, all))
}
