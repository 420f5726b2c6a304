package main

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/subject"
)

// options are what the command line says.
type options struct {
	run      string
	dir      string
	docs     string
	report   bool
	debezium bool
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

// defaults are those of a command line without flags.
func defaults() options {
	return options{
		run: time.Now().UTC().Format("20060102-150405"), dir: "results", docs: "../docs", suite: suiteFull,
		rows: 200_000, largest: 10_000_000, repeats: 5, limit: 5 * time.Minute,
		load: load.Workload{Messages: 50_000, Keys: 1_000, Size: 300},
	}
}

func parse() (options, error) {
	o := defaults()
	flag.StringVar(&o.run, "run", o.run, "name of the run; one that exists goes on where it stopped")
	flag.StringVar(&o.dir, "dir", o.dir, "folder of the results")
	flag.BoolVar(&o.report, "report", o.report, "measure nothing, write what is made of the latest results")
	flag.BoolVar(&o.debezium, "debezium", o.debezium,
		"measure "+subject.DebeziumKafka+" too, by the Kafka Connect at CONNECT_URL; make bench-debezium starts one")
	flag.StringVar(&o.docs, "docs", o.docs, "folder of the documentation, for the report")
	flag.StringVar(&o.suite, "suite", o.suite,
		"what is measured: "+suiteFull+" (everything), "+suiteQuick+" (the main ratios), "+suiteDrain+
			" (to a broker), "+suiteLatency+" (commit to consumer), "+suiteRelay+" (several relays, takeover, idle, "+
			"memory, Enqueue), "+suiteStore+" (claim and settle alone) or "+suitePublish+" (publishers alone)")
	flag.IntVar(&o.rows, "rows", o.rows, "messages in the table of the store alone; its backlog is five times that")
	flag.IntVar(&o.largest, "largest", o.largest, "messages of the largest backlog of the store alone, measured once")
	flag.StringVar(&o.subjects, "subjects", "",
		"comma-separated subjects to measure, of "+strings.Join(names(all()), ", ")+" (default all)")
	flag.StringVar(&o.profiles, "profiles", "", "folder for a CPU profile of each measurement (default none)")
	flag.IntVar(&o.repeats, "repeats", o.repeats, "measurements of each cell, at most 3 of the longest")
	flag.DurationVar(&o.limit, "limit", o.limit, "longest time of one measurement")
	flag.Float64Var(&o.idle, "idle", 0,
		"share of the processors, 0 to 1, that must be idle for 2 s before a measurement; waits for it up to -limit")
	flag.IntVar(&o.load.Messages, "messages", o.load.Messages,
		"messages in the table; slow subjects get a fifth, fast ones four times as many")
	flag.IntVar(&o.load.Keys, "keys", o.load.Keys, "ordering keys, evenly used")
	flag.IntVar(&o.load.Size, "size", o.load.Size, "bytes of a payload")
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
