package report

import (
	"cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
)

// Of names a figure of a cell. Of its workload, what is 0 may be anything, but for the spread.
type Of struct {
	Kind      string // results.Drain if empty
	Subject   string
	Condition string
	Workload  load.Workload
	Figure    string // as in Summary.Figures; the rate if empty
}

// Comparison is the ratio of the medians of two figures, or one figure alone, and what is aimed at.
type Comparison struct {
	Name    string
	What    string // for people
	Of      Of     // this figure
	Over    Of     // is divided by this one; by nothing if it has no subject
	AtLeast float64
	AtMost  float64
	// Once wants every message to have arrived once.
	Once bool
	// Per is another comparison whose ratio divides this one's: what the same change costs somebody else.
	Per *Comparison
}

// Ratios are those comparisons whose cells were all measured.
func Ratios(comparisons []Comparison, summaries []results.Summary) map[string]float64 {
	return measured(comparisons, summaries, true)
}

// Absolutes are the figures that are compared with nothing.
func Absolutes(comparisons []Comparison, summaries []results.Summary) map[string]float64 {
	return measured(comparisons, summaries, false)
}

func measured(comparisons []Comparison, summaries []results.Summary, ratios bool) map[string]float64 {
	values := map[string]float64{}
	for _, c := range comparisons {
		if v, ok := c.value(summaries); ok && c.isRatio() == ratios {
			values[c.Name] = v
		}
	}
	return values
}

func (c Comparison) isRatio() bool { return c.Over.Subject != "" }

// value is not ok when something that it needs was not measured.
func (c Comparison) value(summaries []results.Summary) (value float64, ok bool) {
	value, ok = c.Of.value(summaries)
	if !ok || !c.isRatio() {
		return value, ok
	}
	over, ok := c.Over.value(summaries)
	if !ok || over == 0 {
		return 0, false
	}
	if value /= over; c.Per == nil {
		return value, true
	}
	per, ok := c.Per.value(summaries)
	if !ok || per == 0 {
		return 0, false
	}
	return value / per, true
}

// hasTarget reports whether the comparison is judged.
func (c Comparison) hasTarget() bool { return c.AtLeast > 0 || c.AtMost > 0 }

// met reports whether a value is within the bounds, and what was measured is sound.
func (c Comparison) met(value float64, summaries []results.Summary) bool {
	s := find(summaries, c.Of)
	return value >= c.AtLeast && (c.AtMost == 0 || value <= c.AtMost) && s.Sound() &&
		(!c.Once || s.Arrived.Duplicates == 0)
}

func (o Of) value(summaries []results.Summary) (value float64, ok bool) {
	s := find(summaries, o)
	if o.Figure == "" {
		return s.Rate.Median, s.Rate.Median > 0
	}
	figure, ok := s.Figures[o.Figure]
	return figure.Median, ok
}

// find returns the first cell that it names, or an empty summary.
func find(summaries []results.Summary, of Of) results.Summary {
	for _, s := range summaries {
		if s.Kind == cmp.Or(of.Kind, results.Drain) && s.Subject == of.Subject && s.Condition == of.Condition &&
			matches(of.Workload, s.Workload) {
			return s
		}
	}
	return results.Summary{}
}

func matches(wanted, w load.Workload) bool {
	return w.Spread == wanted.Spread &&
		(wanted.Messages == 0 || wanted.Messages == w.Messages) &&
		(wanted.Keys == 0 || wanted.Keys == w.Keys) &&
		(wanted.Size == 0 || wanted.Size == w.Size)
}
