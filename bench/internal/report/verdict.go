package report

import (
	"fmt"
	"io"

	"github.com/postroom/postroom/bench/internal/results"
)

// Verdicts writes each comparison with its target, and reports whether all targets that could be judged are met: the
// bound is kept, and the subject lost nothing and kept the order in every sample.
func Verdicts(w io.Writer, comparisons []Comparison, summaries []results.Summary) (met bool) {
	met = true
	for _, c := range comparisons {
		value, ok := c.value(summaries)
		if !ok {
			continue
		}
		word := "    "
		if c.hasTarget() {
			word = "pass"
			if !c.met(value, summaries) {
				word, met = "FAIL", false
			}
		}
		fmt.Fprintf(w, "%s  %-28s %8.2f%s\n", word, c.Name, value, c.parenthesis())
	}
	return met
}

func (c Comparison) parenthesis() string {
	if !c.hasTarget() {
		return ""
	}
	return "   (target: " + c.target() + ")"
}

// target is what is aimed at, in words.
func (c Comparison) target() string {
	text := ""
	switch {
	case c.AtLeast > 0:
		text = fmt.Sprintf("at least %g", c.AtLeast)
	case c.AtMost > 0:
		text = fmt.Sprintf("at most %g", c.AtMost)
	}
	if c.Once {
		text += ", each message once"
	}
	return text
}
