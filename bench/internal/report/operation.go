package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/postroom/postroom/bench/internal/cost"
	"github.com/postroom/postroom/bench/internal/idle"
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/relays"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// MemoryMessages are how many large messages the smaller and the larger table hold in which memory is watched.
var MemoryMessages = [2]int{3_000, 12_000}

// MemoryBody is so large that bytes bound a batch, not messages.
const MemoryBody = 32_000

// OperationComparisons are those of enqueueing, and of relays as an operator knows them.
func OperationComparisons() []Comparison {
	return slices.Concat(enqueueComparisons(), processComparisons(), restComparisons())
}

func enqueueComparisons() []Comparison {
	of := func(figure string, size int) Of {
		return Of{
			Kind: results.Enqueue, Subject: subject.OursSQL, Figure: figure, Workload: load.Workload{Size: size},
		}
	}
	beside := func(name, what string, size int) Comparison {
		return Comparison{Name: name, What: what, Of: of(cost.Enqueue, size), Over: of(cost.Create, size), AtMost: 1.1}
	}
	return []Comparison{
		beside("enqueue_vs_insert", "Enqueue beside GORM's Create", 300),
		beside("enqueue_vs_insert_large", "Enqueue beside GORM's Create, 1.9 KB", subject.LargeBody),
	}
}

// processComparisons are those of several relays. "No loss" is nine tenths, as everywhere.
func processComparisons() []Comparison {
	many := func(n, figure string) Of {
		return Of{Kind: results.Relays, Subject: subject.OursKafka, Condition: n, Figure: figure}
	}
	ends := func(how string) Of {
		return Of{Kind: results.Takeover, Subject: subject.OursKafka, Condition: how, Figure: relays.Longest}
	}
	lease := relays.Lease.Seconds()
	return []Comparison{
		{
			Name: "relays_2", What: "two relay processes beside one", AtLeast: 0.9, Once: true,
			Of: many("2 relays", ""), Over: many("1 relays", ""),
		},
		{
			Name: "relays_4", What: "four relay processes beside one", AtLeast: 0.9, Once: true,
			Of: many("4 relays", ""), Over: many("1 relays", ""),
		},
		{
			Name: "relays_4_lanes_apart", What: "lanes between the richest and the poorest of four relays", AtMost: 1,
			Of: many("4 relays", relays.LanesApart),
		},
		{
			Name: "handover_s", What: "seconds to take over after SIGTERM", AtMost: 1, Once: true,
			Of: ends(relays.Deployment),
		},
		{
			Name: "takeover_s", What: fmt.Sprintf("seconds to take over after kill -9, with a lease of %g s", lease),
			Of: ends(relays.Crash), AtMost: lease + 1,
		},
	}
}

func restComparisons() []Comparison {
	resting := func(figure string) Of { return Of{Kind: results.Idle, Subject: subject.OursKafka, Figure: figure} }
	memory := func(messages int, figure string) Of {
		return Of{
			Kind: results.Memory, Subject: subject.OursKafka, Figure: figure, Workload: load.Workload{Messages: messages},
		}
	}
	small, large := MemoryMessages[0], MemoryMessages[1]
	return []Comparison{
		{
			Name: "idle_statements_per_s", What: "statements a second of an idle relay", AtMost: 2,
			Of: resting(idle.Statements),
		},
		{
			Name: "idle_heap_growth_kb", What: "kB by which an idle relay's heap grows in 15 s", AtMost: 64,
			Of: resting(idle.Growth),
		},
		{
			Name: "memory_above_rest", What: "memory of a drain as a share of 2 × workers × batch bytes", AtMost: 1,
			Of: memory(large, relays.Above),
		},
		{
			Name: "memory_flat", What: "peak memory at four times the backlog", AtMost: 1.2,
			Of: memory(large, relays.Peak), Over: memory(small, relays.Peak),
		},
	}
}

// FigureTable writes one line for each cell of the kinds that have figures of their own.
func FigureTable(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range summaries {
		if s.Kind == results.Drain || s.Kind == results.Latency {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d×%d B\t%s\t%s\n", s.Kind, s.Subject, s.Condition, s.Workload.Messages,
			s.Workload.Size, figures(s), outcome(s))
	}
	return t.Flush()
}

func figures(s results.Summary) string {
	var texts []string
	if s.Rate.Median > 0 {
		texts = append(texts, number(s.Rate.Median)+" msg/s")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Figures)) {
		texts = append(texts, fmt.Sprintf("%s %.2f", name, s.Figures[name].Median))
	}
	return strings.Join(texts, ", ")
}
