package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/bench/internal/condition"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// step is one thing to measure, and by whom.
type step struct {
	spec subject.Spec
	cell results.Cell
	once bool // too long to be repeated
}

// The suites.
const (
	suiteDrain   = "drain"   // from the table to a broker
	suiteStore   = "store"   // claim and settle alone
	suitePublish = "publish" // from memory to a broker
)

// plan returns what a run measures, in the order of its first round.
func plan(o options) ([]step, error) {
	specs, err := choose(o.suite, o.subjects)
	if err != nil {
		return nil, err
	}
	if o.suite == suiteStore {
		return storeSteps(specs, o.load, o.largest), nil
	}
	steps := make([]step, len(specs))
	for i, s := range specs {
		steps[i] = step{spec: s, cell: cellOf(s, o.load)}
	}
	return steps, nil
}

// choose returns the subjects of a comma-separated list, in their usual order; all of the suite for an empty list.
func choose(suite, list string) ([]subject.Spec, error) {
	var all []subject.Spec
	switch suite {
	case suiteDrain:
		all = subject.All()
	case suiteStore:
		all = subject.Stores()
	case suitePublish:
		all = subject.Publishers()
	default:
		return nil, fmt.Errorf("choose subjects: no suite is called %q: use %s, %s or %s",
			suite, suiteDrain, suiteStore, suitePublish)
	}
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

// cellOf is the drain of a subject; slow ones get their share of the messages, fast ones a multiple.
func cellOf(s subject.Spec, w load.Workload) results.Cell {
	w.Messages = max(1, w.Messages*max(1, s.Times)/max(1, s.Share))
	return results.Cell{Kind: results.Drain, Subject: s.Name, Workload: w}
}

// storeSteps are the drains of a store suite: each subject with small and large bodies; the store under each
// condition and with a large backlog, where the bare loop shows what the backlog itself costs.
func storeSteps(specs []subject.Spec, w load.Workload, largest int) []step {
	var steps []step
	add := func(s subject.Spec, name string, messages, size int, once bool) {
		c := results.Cell{Kind: results.Drain, Subject: s.Name, Condition: name, Workload: w}
		c.Workload.Messages, c.Workload.Size = messages, size
		steps = append(steps, step{spec: s, cell: c, once: once})
	}
	backlog := min(largest, 5*w.Messages)
	for _, s := range specs {
		add(s, condition.Clean, w.Messages, w.Size, false)
		add(s, condition.Clean, w.Messages, subject.LargeBody, false)
		if s.Name == subject.SkipLockedSQL {
			continue
		}
		add(s, condition.Clean, backlog, w.Size, false)
		if s.Name == subject.OursSQL {
			add(s, condition.HeldSnapshot, backlog, w.Size, false)
			add(s, condition.HeldWriter, backlog, w.Size, false)
			add(s, condition.HeldMessages, w.Messages, w.Size, false)
		}
		if largest > backlog {
			add(s, condition.Clean, largest, w.Size, true)
		}
	}
	return steps
}
