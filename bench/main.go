// Command bench measures how fast the relay empties its table into Kafka and RabbitMQ, beside the raw limits of the
// same servers and beside other ways to do it, in one run on one machine. README.md tells what is compared and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/bench/internal/load"
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

// options are what the command line says.
type options struct {
	run      string
	dir      string
	suite    string
	subjects string
	rows     int
	largest  int
	profiles string
	repeats  int
	limit    time.Duration
	idle     float64
	load     load.Workload
}

func parse() (options, error) {
	o := options{}
	flag.StringVar(&o.run, "run", time.Now().UTC().Format("20060102-150405"),
		"name of the run; one that exists goes on where it stopped")
	flag.StringVar(&o.dir, "dir", "results", "folder of the results")
	flag.StringVar(&o.suite, "suite", suiteFull,
		"what is measured: "+suiteFull+" (everything), "+suiteQuick+" (the main ratios), "+suiteDrain+
			" (to a broker), "+suiteLatency+" (commit to consumer), "+suiteRelay+" (several relays, takeover, idle, "+
			"memory, Enqueue), "+suiteStore+" (claim and settle alone) or "+suitePublish+" (publishers alone)")
	flag.IntVar(&o.rows, "rows", 200_000, "messages in the table of the store alone; its backlog is five times that")
	flag.IntVar(&o.largest, "largest", 10_000_000, "messages of the largest backlog of the store alone, measured once")
	flag.StringVar(&o.subjects, "subjects", "",
		"comma-separated subjects to measure, of "+strings.Join(names(all()), ", ")+" (default all)")
	flag.StringVar(&o.profiles, "profiles", "", "folder for a CPU profile of each measurement (default none)")
	flag.IntVar(&o.repeats, "repeats", 5, "measurements of each cell, at most 3 of the longest")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "longest time of one measurement")
	flag.Float64Var(&o.idle, "idle", 0,
		"share of the processors, 0 to 1, that must be idle for 2 s before a measurement; waits for it up to -limit")
	flag.IntVar(&o.load.Messages, "messages", 50_000, "messages in the table; slow subjects get a fifth")
	flag.IntVar(&o.load.Keys, "keys", 1_000, "ordering keys, evenly used")
	flag.IntVar(&o.load.Size, "size", 300, "bytes of a payload")
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("read the command line: %q is no flag", flag.Arg(0))
	}
	if o.repeats < 1 {
		return o, fmt.Errorf("read the command line: repeats must be at least 1, not %d", o.repeats)
	}
	if o.idle < 0 || o.idle > 1 {
		return o, fmt.Errorf("read the command line: idle must be 0 to 1, not %g", o.idle)
	}
	if err := o.load.Check(); err != nil {
		return o, fmt.Errorf("read the command line: %w", err)
	}
	return o, nil
}

// bench measures what is still to be measured, prints what it comes to, and reports whether the targets are met. A run
// of all subjects becomes the latest one of its suite.
func bench(ctx context.Context) (met bool, err error) {
	o, err := parse()
	if err != nil {
		return false, err
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

// table is the workload of the store alone.
func (o options) table() load.Workload {
	w := o.load
	w.Messages = o.rows
	return w
}

// backlogs are how many messages the large tables of the store alone hold, the largest last.
func (o options) backlogs() []int {
	if n := min(o.largest, 5*o.rows); n < o.largest {
		return []int{n, o.largest}
	}
	return []int{o.largest}
}
