package report

import (
	"fmt"
	"io"

	"github.com/postroom/postroom/bench/internal/results"
)

// Verdicts writes each ratio with its target, and reports whether all targets that could be judged are met: the ratio
// is reached, and the subject lost nothing and kept the order in every sample.
func Verdicts(w io.Writer, comparisons []Comparison, summaries []results.Summary) (met bool) {
	met = true
	for _, c := range comparisons {
		r := ratio(summaries, c)
		if r == 0 {
			continue
		}
		word := "    "
		if c.AtLeast > 0 {
			word = "pass"
			if r < c.AtLeast || !find(summaries, c.Of).Sound() {
				word, met = "FAIL", false
			}
		}
		fmt.Fprintf(w, "%s  %-26s %6.2f%s\n", word, c.Name, r, target(c))
	}
	return met
}

func target(c Comparison) string {
	if c.AtLeast == 0 {
		return ""
	}
	return fmt.Sprintf("   (target: ordered, complete and at least %g)", c.AtLeast)
}
