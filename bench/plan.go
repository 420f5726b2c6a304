package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/bench/internal/condition"
	"github.com/postroom/postroom/bench/internal/latency"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/relays"
	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// step is one thing to measure, and by whom.
type step struct {
	spec subject.Spec
	cell results.Cell
	most int // repeats, if it is too long for all of them
}

// suite is what is measured together.
type suite struct {
	specs       func() []subject.Spec
	steps       func(o options, specs []subject.Spec) []step
	comparisons func(o options) []report.Comparison
	keep        string // the file that holds the last run
}

// The suites.
const (
	suiteFull    = "full"    // everything
	suiteQuick   = "quick"   // the main ratios, small
	suiteDrain   = "drain"   // from the table to a broker
	suiteStore   = "store"   // claim and settle alone
	suiteLatency = "latency" // from a commit to a consumer
	suiteRelay   = "relay"   // what operators ask: several relays, one that ends, an idle one, memory; and Enqueue
	suitePublish = "publish" // from memory to a broker
)

func suites() map[string]suite {
	return map[string]suite{
		suiteFull:    {all, fullSteps, fullComparisons, latestResults},
		suiteQuick:   {all, quickSteps, fullComparisons, "quick.json"},
		suiteDrain:   {subject.All, drainSteps, drainComparisons, "drain.json"},
		suiteStore:   {subject.Stores, storeSteps, storeComparisons, "store.json"},
		suiteLatency: {subject.Flows, latencySteps, latencyComparisons, "latency.json"},
		suiteRelay:   {relaySpecs, relaySteps, relayComparisons, "relay.json"},
		suitePublish: {subject.Publishers, plainSteps, publishComparisons, "publish.json"},
	}
}

// all are the subjects of the full suite, each once.
func all() []subject.Spec {
	every := slices.Concat(subject.All(), subject.Stores())
	for _, s := range subject.Flows() {
		if !slices.Contains(names(every), s.Name) {
			every = append(every, s)
		}
	}
	return every
}

// relaySpecs are the subjects of a suite that has only ours: with a broker, and without.
func relaySpecs() []subject.Spec {
	return []subject.Spec{{Name: subject.OursKafka, Broker: servers.Kafka}, {Name: subject.OursSQL}}
}

func latencyComparisons(options) []report.Comparison { return report.LatencyComparisons() }

func relayComparisons(options) []report.Comparison { return report.OperationComparisons() }

func drainComparisons(o options) []report.Comparison { return report.DrainComparisons(o.load) }

func publishComparisons(options) []report.Comparison { return report.PublishComparisons() }

func storeComparisons(o options) []report.Comparison {
	return report.StoreComparisons(o.table(), o.backlogs()...)
}

func fullComparisons(o options) []report.Comparison {
	return slices.Concat(
		drainComparisons(o), storeComparisons(o), report.LatencyComparisons(), report.OperationComparisons())
}

// plan returns what a run measures, in the order of its first round.
func plan(o options) ([]step, error) {
	s, ok := suites()[o.suite]
	if !ok {
		return nil, fmt.Errorf("choose a suite: none is called %q: use %s", o.suite, strings.Join(suiteNames(), ", "))
	}
	specs := s.specs()
	if o.debezium {
		specs = append(specs, subject.Debezium())
	}
	specs, err := choose(specs, o.subjects)
	if err != nil {
		return nil, err
	}
	return s.steps(o, specs), nil
}

func suiteNames() []string {
	return []string{suiteFull, suiteQuick, suiteDrain, suiteStore, suiteLatency, suiteRelay, suitePublish}
}

// choose returns the subjects of a comma-separated list, in their usual order; all of them for an empty list.
func choose(all []subject.Spec, list string) ([]subject.Spec, error) {
	if list == "" {
		return all, nil
	}
	known := names(all)
	wanted := strings.Split(list, ",")
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("choose subjects: no %q among %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(s subject.Spec) bool { return !slices.Contains(wanted, s.Name) }), nil
}

func names(specs []subject.Spec) []string {
	var all []string
	for _, s := range specs {
		all = append(all, s.Name)
	}
	return all
}

// of returns those specs that are among subjects.
func of(specs, subjects []subject.Spec) []subject.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s subject.Spec) bool {
		return !slices.Contains(names(subjects), s.Name)
	})
}

func fullSteps(o options, specs []subject.Spec) []step {
	return slices.Concat(
		drainSteps(o, of(specs, append(subject.All(), subject.Debezium()))),
		latencySteps(o, of(subject.Flows(), specs)),
		relaySteps(o, of(relaySpecs(), specs)),
		storeSteps(o, of(specs, subject.Stores())),
	)
}

// quickSteps are those of the main ratios. A run of them takes minutes, and is no more than a hint.
func quickSteps(o options, specs []subject.Spec) []step {
	left := []string{
		subject.PipelinedKafka, subject.RawKafkaProduce, subject.TunedKafka,
		subject.PipelinedAMQP, subject.RawAMQPPublish, subject.TunedAMQP,
	}
	drains := slices.DeleteFunc(of(specs, subject.All()), func(s subject.Spec) bool {
		return slices.Contains(left, s.Name)
	})
	steps := plainSteps(o, drains)
	for _, s := range slices.Concat(latencySteps(o, of(subject.Flows(), specs)), relaySteps(o, of(relaySpecs(), specs)),
		storeSteps(o, of(specs, subject.Stores()))) {
		c := s.cell
		latencies := c.Kind == results.Latency && c.Condition == "500/s"
		tables := c.Kind == results.Drain && c.Condition == condition.Clean && c.Workload.Messages == o.rows
		if latencies || tables || c.Kind == results.Enqueue {
			steps = append(steps, s)
		}
	}
	return steps
}

// plainSteps are one drain of each subject.
func plainSteps(o options, specs []subject.Spec) []step {
	var steps []step
	for _, s := range specs {
		steps = append(steps, step{spec: s, cell: cellOf(s, o.load)})
	}
	return steps
}

// drainSteps are one drain of each subject, and with large bodies and other keys those of ours. RabbitMQ gets one
// message of a hot key at a time, so it gets few of them.
func drainSteps(o options, specs []subject.Spec) []step {
	large, zipf, hot := o.load, o.load, o.load
	large.Size, zipf.Spread, hot.Keys = subject.LargeDrain, load.Zipf, 1
	var steps []step
	for _, s := range specs {
		variants := []load.Workload{o.load}
		switch s.Name {
		case subject.OursKafka, subject.OursAMQP:
			variants = append(variants, large, zipf, hot)
		case subject.RawKafka, subject.RawAMQP:
			variants = append(variants, large)
		}
		for _, w := range variants {
			c := cellOf(s, w)
			switch {
			case w == hot && s.Name == subject.OursAMQP:
				c.Workload.Messages = max(1, w.Messages/20)
			case w == large:
				c.Workload.Messages = w.Messages // which are many bytes
			}
			steps = append(steps, step{spec: s, cell: c})
		}
	}
	return steps
}

// cellOf is the drain of a subject; slow ones get their share of the messages, fast ones a multiple.
func cellOf(s subject.Spec, w load.Workload) results.Cell {
	w.Messages = max(1, w.Messages*max(1, s.Times)/max(1, s.Share))
	return results.Cell{Kind: results.Drain, Subject: s.Name, Workload: w}
}

// long is how often at most a drain of a million messages is repeated.
const long = 3

// storeSteps are the drains of the store alone: each subject with small and large bodies; the store under each
// condition and with large backlogs, where the bare loop shows what the backlog itself costs.
func storeSteps(o options, specs []subject.Spec) []step {
	table, backlogs := o.table(), o.backlogs()
	var steps []step
	add := func(s subject.Spec, name string, messages, size, most int) {
		c := results.Cell{Kind: results.Drain, Subject: s.Name, Condition: name, Workload: table}
		c.Workload.Messages, c.Workload.Size = messages, size
		steps = append(steps, step{spec: s, cell: c, most: most})
	}
	for _, s := range specs {
		add(s, condition.Clean, table.Messages, table.Size, 0)
		add(s, condition.Clean, table.Messages, subject.LargeBody, 0)
		if s.Name == subject.SkipLockedSQL {
			continue
		}
		if s.Name == subject.OursSQL {
			add(s, condition.HeldMessages, table.Messages, table.Size, 0)
			add(s, condition.HeldSnapshot, backlogs[0], table.Size, long)
			add(s, condition.HeldWriter, backlogs[0], table.Size, long)
		}
		for i, n := range backlogs {
			most := long
			if i > 0 {
				most = 1
			}
			add(s, condition.Clean, n, table.Size, most)
		}
	}
	return steps
}

// latencySteps offer each load to each flow; flat out goes to ours alone, to find out what the others are a share of.
func latencySteps(o options, specs []subject.Spec) []step {
	var steps []step
	for _, offer := range latency.Offers() {
		for _, s := range specs {
			if offer.Name == latency.FlatOut && s.Name != subject.OursKafka && s.Name != subject.OursAMQP {
				continue
			}
			c := results.Cell{Kind: results.Latency, Subject: s.Name, Condition: offer.Name, Workload: o.load}
			c.Workload.Messages = offer.Messages
			steps = append(steps, step{spec: s, cell: c, most: offer.Most})
		}
	}
	return steps
}

// relaySteps are what operators ask.
func relaySteps(o options, specs []subject.Spec) []step {
	var steps []step
	add := func(kind, condition string, s subject.Spec, messages, size, most int) {
		c := results.Cell{Kind: kind, Subject: s.Name, Condition: condition, Workload: o.load}
		c.Workload.Messages, c.Workload.Size = messages, size
		steps = append(steps, step{spec: s, cell: c, most: most})
	}
	for _, s := range specs {
		if s.Name == subject.OursSQL {
			add(results.Enqueue, "", s, 2_000, o.load.Size, 0)
			add(results.Enqueue, "", s, 2_000, subject.LargeBody, 0)
			continue
		}
		for _, n := range []int{1, 2, 4} {
			add(results.Relays, fmt.Sprint(n)+relaysWord, s, 2*o.load.Messages, o.load.Size, 0)
		}
		add(results.Takeover, relays.Deployment, s, 3_000, o.load.Size, long)
		add(results.Takeover, relays.Crash, s, 6_000, o.load.Size, long)
		add(results.Idle, "", s, 1, o.load.Size, 2)
		for _, n := range report.MemoryMessages {
			add(results.Memory, "", s, n, report.MemoryBody, long)
		}
	}
	return steps
}
