package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/postroom/postroom/bench/internal/results"
)

// CSV writes one line for each cell: medians, with the slowest and the fastest rate.
func CSV(w io.Writer, summaries []results.Summary) error {
	lines := [][]string{{
		"kind", "subject", "condition", "messages", "keys", "spread", "bytes", "repeats", "rate", "rate_min", "rate_max",
		"steady", "client_us", "database_us", "broker_us", "wal_bytes", "delivered", "missing", "duplicates", "misordered",
		"errors", "figures",
	}}
	for _, s := range summaries {
		lines = append(lines, []string{
			s.Kind, s.Subject, s.Condition, count(s.Workload.Messages), count(s.Workload.Keys), s.Workload.Spread,
			count(s.Workload.Size), count(s.Rate.Repeats), value(s.Rate.Median), value(s.Rate.Min), value(s.Rate.Max),
			value(s.Steady.Median), value(s.CPU["client"]), value(s.CPU["database"]), value(s.CPU["broker"]), value(s.WAL),
			count(s.Arrived.Delivered), count(s.Arrived.Missing), count(s.Arrived.Duplicates), count(s.Arrived.Misordered),
			count(len(s.Errors)), figureList(s),
		})
	}
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("write the table of medians: %w", err)
	}
	return nil
}

func count(n int) string { return strconv.Itoa(n) }

func value(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// figureList is name=median, separated by semicolons.
func figureList(s results.Summary) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(s.Figures)) {
		texts = append(texts, name+"="+value(s.Figures[name].Median))
	}
	return strings.Join(texts, ";")
}
