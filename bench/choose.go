package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// choose returns the subjects of a comma-separated list, in their usual order; all of them for an empty list.
func choose(list string) ([]subject.Spec, error) {
	all := subject.All()
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

// cellOf is the drain of a subject; slow ones get their share of the messages.
func cellOf(s subject.Spec, w load.Workload) results.Cell {
	w.Messages = max(1, w.Messages/max(1, s.Share))
	return results.Cell{Kind: results.Drain, Subject: s.Name, Workload: w}
}
