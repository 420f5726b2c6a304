//go:build unix

// Command chaos runs the fault suite: it starts servers of its own, lets writers, relay processes and consumers work
// on them while faults happen, and judges what was recorded. docs/reliability.md tells what is done and how to repeat
// it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/postroom/postroom/chaos/internal/results"
	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/trial"
)

// Where results are kept, seen from this module.
const (
	resultsFile = "results/latest.json"
	pageFile    = "../docs/reliability.md"
)

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what the writers' store has to say of the faults
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("a promise was broken")

// options are what the command line says.
type options struct {
	trial.Config
	brokers []string
	total   time.Duration
	page    bool
	merge   string
}

func parse() options {
	o := options{Config: trial.Config{Tell: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}}
	flag.Uint64Var(&o.Seed, "seed", 1, "what decides the sequence of faults")
	broker := flag.String("broker", "", "kafka or amqp (default both, half of the time each)")
	flag.DurationVar(&o.total, "duration", 10*time.Minute, "how long faults happen")
	flag.IntVar(&o.Relays, "relays", 3, "relay processes")
	flag.IntVar(&o.Rate, "rate", 800, "messages a second")
	flag.DurationVar(&o.Quiet, "quiet", 10*time.Second, "time without faults after 40 s of them")
	flag.StringVar(&o.Keep, "keep", "", "folder for the history of a trial that broke a promise")
	flag.StringVar(&o.Broken, "break", "", "a guard that relays are made without, to see the suite fail: claim or confirm")
	cluster := flag.Bool("cluster", false, "a broker of three nodes; such a run of all faults is added to the results")
	only := flag.String("only", "", "kinds of faults, separated by commas (default all)")
	flag.BoolVar(&o.page, "page", false, "only write the page about the results again")
	flag.StringVar(&o.merge, "merge", "", "only add the trials of another file of results, made on another machine")
	flag.Parse()
	o.Nodes = 1
	if *cluster {
		o.Nodes = 3
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	o.brokers = []string{stage.Kafka, stage.AMQP}
	if *broker != "" {
		o.brokers = []string{*broker}
	}
	o.Duration = o.total / time.Duration(len(o.brokers))
	return o
}

func run(ctx context.Context) error {
	o := parse()
	switch {
	case o.page:
		return writePage()
	case o.merge != "":
		other, err := results.Open(o.merge)
		if err != nil {
			return err
		}
		return save(other.Runs...)
	}
	programs, remove, err := trial.Build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	o.Programs = programs
	var errs []error
	for _, o.Broker = range o.brokers {
		if err := o.try(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Broker, err))
		}
	}
	return errors.Join(errs...)
}

// try makes one trial, prints what came of it, and adds it to the results.
func (o options) try(ctx context.Context) error {
	began := time.Now().UTC().Truncate(time.Second)
	fmt.Printf("%s × %d, seed %d, %v\n", o.Broker, o.Nodes, o.Seed, o.Duration)
	outcome, err := trial.Run(ctx, o.Config)
	if err != nil {
		return err
	}
	if _, err := outcome.Report.WriteTo(os.Stdout); err != nil {
		return err
	}
	for _, p := range outcome.Problems {
		fmt.Println("problem:", p)
	}
	fmt.Printf("%d relays were started; recovery took %v; %d commits had no answer\n",
		outcome.Starts, outcome.Recovery, outcome.InDoubt)
	if o.Nodes == 3 && len(o.Only) == 0 && o.Broken == "" {
		if err := save(o.result(began, outcome)); err != nil {
			return err
		}
	}
	if !outcome.OK() {
		return errBroken
	}
	return nil
}

func (o options) result(began time.Time, outcome *trial.Outcome) results.Run {
	r := results.Run{
		Seed: o.Seed, Broker: o.Broker, Nodes: o.Nodes, Started: began, Seconds: int(o.Duration.Seconds()),
		Relays: o.Relays, Rate: o.Rate,
	}
	r.Count(outcome.Report)
	r.Faults, r.Leaks, r.RelayStarts = outcome.Faults, len(outcome.Problems), outcome.Starts
	r.RecoverySeconds = outcome.Recovery.Seconds()
	return r
}

// save adds trials to the results, and writes the page about all of them again.
func save(runs ...results.Run) error {
	f, err := results.Open(resultsFile)
	if err != nil {
		return err
	}
	for _, r := range runs {
		f.Add(r)
	}
	if err := f.Save(resultsFile); err != nil {
		return err
	}
	return writePage()
}

func writePage() error {
	f, err := results.Open(resultsFile)
	if err != nil {
		return err
	}
	page, err := f.Page()
	if err != nil {
		return err
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}
