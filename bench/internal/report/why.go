package report

import (
	_ "embed"
	"strings"

	"github.com/postroom/postroom/bench/internal/results"
)

//go:embed why.txt
var whyText string

// why tells for targets that are hard to hold where the limit comes from, by the names of their comparisons.
func why() map[string]string {
	reasons := map[string]string{}
	for section := range strings.SplitSeq("\n"+whyText, "\n## ") {
		names, text, _ := strings.Cut(section, "\n")
		for _, name := range strings.Fields(names) {
			reasons[name] = strings.TrimSpace(text)
		}
	}
	return reasons
}

// miss is a target that was missed. What neighbours have in common is told by the last of them.
type miss struct{ Name, Measured, Target, Why string }

func misses(f *results.File, comparisons []Comparison) []miss {
	var all []miss
	reasons := why()
	for _, c := range comparisons {
		if value, ok := c.value(f.Summaries); ok && c.hasTarget() && !c.met(value, f.Summaries) {
			if last := len(all) - 1; last >= 0 && all[last].Why == reasons[c.Name] {
				all[last].Why = ""
			}
			all = append(all, miss{c.Name, decimal(value), c.target(), reasons[c.Name]})
		}
	}
	return all
}
