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

// StoreComparisons are the ratios of the store alone: claim and settle beside the bare loop, which reads and deletes
// alone, and beside SKIP LOCKED; and beside themselves in a clean database of as many messages. What a large backlog
// costs is divided by what it costs the bare loop.
func StoreComparisons(w load.Workload, backlogs ...int) []Comparison {
	of := func(name, condition string, messages, size int) Of {
		return Of{
			Subject: name, Condition: condition, Workload: load.Workload{Messages: messages, Keys: w.Keys, Size: size},
		}
	}
	ours := func(condition string, messages int) Of { return of(subject.OursSQL, condition, messages, w.Size) }
	clean := func(name string, messages, size int) Of { return of(name, condition.Clean, messages, size) }
	versus := func(name, what, other string, size int, atLeast float64) Comparison {
		return Comparison{
			Name: name, What: what, AtLeast: atLeast,
			Of: clean(subject.OursSQL, w.Messages, size), Over: clean(other, w.Messages, size),
		}
	}
	held := func(name, what, under string, messages int) Comparison {
		return Comparison{
			Name: name, What: what, Of: ours(under, messages), Over: ours(condition.Clean, messages), AtLeast: 0.9,
		}
	}
	all := []Comparison{
		versus("store_vs_raw", "bare read and delete", subject.RawSQL, w.Size, 0.8),
		versus("store_vs_raw_large", "bare read and delete, 1.9 KB", subject.RawSQL, subject.LargeBody, 0.7),
		versus("store_vs_skip_locked", "SKIP LOCKED 1 000", subject.SkipLockedSQL, w.Size, 0),
		versus("store_vs_skip_locked_large", "SKIP LOCKED 1 000, 1.9 KB", subject.SkipLockedSQL, subject.LargeBody, 0),
		held("held_snapshot", "a snapshot held open beside clean", condition.HeldSnapshot, backlogs[0]),
		held("held_writer", "a writer held open beside clean", condition.HeldWriter, backlogs[0]),
		held("held_messages", "100 000 held messages beside none", condition.HeldMessages, w.Messages),
	}
	for _, n := range backlogs {
		all = append(all, Comparison{
			Name: "backlog_" + short(n),
			What: short(n) + " messages beside " + short(w.Messages) + ", corrected by the bare loop",
			Of:   ours(condition.Clean, n), Over: ours(condition.Clean, w.Messages), AtLeast: 0.9,
			Per: &Comparison{Of: clean(subject.RawSQL, n, w.Size), Over: clean(subject.RawSQL, w.Messages, w.Size)},
		})
	}
	return all
}

// short writes a number of messages in few letters.
func short(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dm", n/1_000_000)
	case n >= 1_000 && n%1_000 == 0:
		return fmt.Sprintf("%dk", n/1_000)
	}
	return fmt.Sprint(n)
}

// StoreTable writes one line for each drain without a broker.
func StoreTable(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "subject\tdatabase\tmessages\tbytes\tmsg/s\tfrom – to\tWAL bytes/msg\tclient µs/msg\tserver µs/msg\t")
	for _, s := range summaries {
		if !isStore(s) {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s – %s\t%.0f\t%.1f\t%.1f\t%s\n", s.Subject, state(s), s.Workload.Messages,
			s.Workload.Size, number(s.Rate.Median), number(s.Rate.Min), number(s.Rate.Max), s.WAL, s.CPU["client"],
			s.CPU["database"], failures(s))
	}
	return t.Flush()
}

// state is what the database was in.
func state(s results.Summary) string {
	if s.Condition == condition.Clean {
		return "clean"
	}
	return s.Condition
}

func isStore(s results.Summary) bool {
	for _, spec := range subject.Stores() {
		if s.Kind == results.Drain && s.Subject == spec.Name {
			return true
		}
	}
	return false
}
