package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/postroom/postroom/bench/internal/condition"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// StoreComparisons are the ratios of a store suite: claim and settle beside the bare loop, which reads and deletes
// alone, and beside SKIP LOCKED; and beside themselves in a clean database of as many messages. What a large backlog
// costs is divided by what it costs the bare loop.
func StoreComparisons(w load.Workload, largest int) []Comparison {
	base, backlog := w.Messages, min(largest, 5*w.Messages)
	of := func(name, condition string, messages, size int) Of {
		return Of{Subject: name, Condition: condition, Messages: messages, Size: size}
	}
	ours := func(condition string, messages int) Of { return of(subject.OursSQL, condition, messages, w.Size) }
	raw := func(messages int) Of { return of(subject.RawSQL, condition.Clean, messages, w.Size) }
	large := func(name string) Of { return of(name, condition.Clean, base, subject.LargeBody) }
	grown := func(name string, messages int) Comparison {
		return Comparison{
			Name: name, Of: ours(condition.Clean, messages), Over: ours(condition.Clean, base), AtLeast: 0.9,
			Per: &Comparison{Of: raw(messages), Over: raw(base)},
		}
	}
	all := []Comparison{
		{Name: "store_vs_raw", Of: ours(condition.Clean, base), Over: raw(base), AtLeast: 0.8},
		{Name: "store_vs_raw_large", Of: large(subject.OursSQL), Over: large(subject.RawSQL), AtLeast: 0.7},
		{
			Name: "store_vs_skip_locked", Of: ours(condition.Clean, base),
			Over: of(subject.SkipLockedSQL, condition.Clean, base, w.Size),
		},
		{Name: "store_vs_skip_locked_large", Of: large(subject.OursSQL), Over: large(subject.SkipLockedSQL)},
	}
	for _, held := range []struct {
		name, condition string
		messages        int
	}{
		{"held_snapshot", condition.HeldSnapshot, backlog},
		{"held_writer", condition.HeldWriter, backlog},
		{"held_messages", condition.HeldMessages, base},
	} {
		all = append(all, Comparison{
			Name: held.name, Of: ours(held.condition, held.messages), Over: ours(condition.Clean, held.messages), AtLeast: 0.9,
		})
	}
	all = append(all, grown("backlog", backlog))
	if largest > backlog {
		all = append(all, grown("backlog_largest", largest))
	}
	return all
}

// StoreTable writes one line for each cell of a store suite.
func StoreTable(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "subject\tdatabase\tmessages\tbytes\tmsg/s\tfrom – to\tWAL bytes/msg\tclient µs/msg\tserver µs/msg\t")
	for _, s := range summaries {
		state := s.Condition
		if state == condition.Clean {
			state = "clean"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s – %s\t%.0f\t%.1f\t%.1f\t%s\n", s.Subject, state, s.Workload.Messages,
			s.Workload.Size, number(s.Rate.Median), number(s.Rate.Min), number(s.Rate.Max), s.WAL, s.CPU["client"],
			s.CPU["database"], failures(s))
	}
	return t.Flush()
}
