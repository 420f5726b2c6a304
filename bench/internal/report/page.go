package report

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/postroom/postroom/bench/internal/results"
)

//go:embed page.tmpl
var pageText string

// Page is docs/performance.md: what a run came to against the targets, what it was made on, and how to repeat it.
func Page(f *results.File, comparisons []Comparison) (string, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"row":      row,
		"number":   number,
		"keys":     keys,
		"state":    state,
		"outcome":  outcome,
		"arrived":  func(s results.Summary, g group) string { return arrived(s, g.broker) },
		"like":     func(name string, s results.Summary) string { return times(s, alike(f.Summaries, name, s)) },
		"figure":   func(s results.Summary, name string) string { return decimal(s.Figures[name].Median) },
		"cpu":      func(s results.Summary, part string) string { return decimal(s.CPU[part]) },
		"gigabyte": func(bytes int64) string { return fmt.Sprintf("%.0f GB", float64(bytes)/1e9) },
	}).Parse(pageText)
	if err != nil {
		return "", fmt.Errorf("read the page: %w", err)
	}
	var out strings.Builder
	err = page.Execute(&out, pageData{
		File: f, Groups: groups(), Targets: lines(f, comparisons, true), Others: lines(f, comparisons, false),
		VersionNames: slices.Sorted(maps.Keys(f.Versions)), Misses: misses(f, comparisons),
		Tired: len(storeBars(f.Summaries, comparisons).values) > 0,
	})
	if err != nil {
		return "", fmt.Errorf("write the page: %w", err)
	}
	return out.String(), nil
}

// pageData is what page.md shows.
type pageData struct {
	*results.File
	Groups       []group
	Targets      []line
	Others       []line
	Misses       []miss
	Tired        bool // whether databases in conditions were measured
	VersionNames []string
}

// Title is a group's, such as "to Kafka".
func (g group) Title() string { return g.title }

// Raw is the subject that shows the limit.
func (g group) Raw() string { return g.raw }

// Forwarder is the one that most would take instead.
func (g group) Forwarder() string { return g.forwarder }

// Drains are those of a group.
func (d pageData) Drains(g group) []results.Summary { return g.members(d.Summaries) }

// Stores are the drains without a broker.
func (d pageData) Stores() []results.Summary {
	return slices.DeleteFunc(slices.Clone(d.Summaries), func(s results.Summary) bool { return !isStore(s) })
}

// Latencies are the cells of that kind.
func (d pageData) Latencies() []results.Summary {
	return slices.DeleteFunc(slices.Clone(d.Summaries), func(s results.Summary) bool { return s.Kind != results.Latency })
}

// Repeats is how often most cells were measured.
func (d pageData) Repeats() int { return rounds(d.Samples) }

// line is a comparison on the page.
type line struct{ Name, What, Target, Measured, Spread, Verdict string }

// lines are the comparisons with a target, or those without, that were measured or should have been.
func lines(f *results.File, comparisons []Comparison, targets bool) []line {
	var all []line
	for _, c := range comparisons {
		if c.hasTarget() != targets {
			continue
		}
		l := line{Name: c.Name, What: c.What, Target: c.target(), Measured: "–", Verdict: "not measured"}
		if value, ok := c.value(f.Summaries); ok {
			l.Measured, l.Verdict = decimal(value), "met"
			if low, high, ok := c.spread(f.Samples); ok {
				l.Spread = decimal(low) + " – " + decimal(high)
			}
			if !c.met(value, f.Summaries) {
				l.Verdict = "**missed**"
			}
		} else if !targets {
			continue
		}
		all = append(all, l)
	}
	return all
}

// row writes the cells of a line of a table.
func row(cells ...any) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	return "| " + strings.Join(texts, " | ") + " |"
}

// decimal writes a figure with as many digits as it is worth.
func decimal(v float64) string {
	switch {
	case v >= 100:
		return number(v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
