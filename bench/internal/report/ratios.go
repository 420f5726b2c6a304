package report

import (
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// Comparison is the ratio of the median rates of two subjects.
type Comparison struct {
	Name    string
	Of      string // this subject's rate
	Over    string // is divided by this one's
	AtLeast float64
}

// Comparisons are the ratios that are published, with their targets; 0 is none.
func Comparisons() []Comparison {
	return []Comparison{
		{Name: "kafka_vs_forwarder", Of: subject.OursKafka, Over: subject.ForwarderKafka, AtLeast: 5},
		{Name: "kafka_vs_river", Of: subject.OursKafka, Over: subject.RiverKafka},
		{Name: "kafka_vs_skip_locked", Of: subject.OursKafka, Over: subject.SkipLockedKafka},
		{Name: "kafka_vs_raw", Of: subject.OursKafka, Over: subject.RawKafka},
		{Name: "amqp_vs_forwarder", Of: subject.OursAMQP, Over: subject.ForwarderAMQP, AtLeast: 5},
		{Name: "amqp_vs_river", Of: subject.OursAMQP, Over: subject.RiverAMQP},
		{Name: "amqp_vs_skip_locked", Of: subject.OursAMQP, Over: subject.SkipLockedAMQP},
		{Name: "amqp_vs_raw", Of: subject.OursAMQP, Over: subject.RawAMQP},
	}
}

// Ratios are those of Comparisons whose subjects were both measured.
func Ratios(summaries []results.Summary) map[string]float64 {
	ratios := map[string]float64{}
	for _, c := range Comparisons() {
		if r := ratio(summaries, c.Of, c.Over); r > 0 {
			ratios[c.Name] = r
		}
	}
	return ratios
}

// ratio is 0 when one of the two has no rate.
func ratio(summaries []results.Summary, of, over string) float64 {
	a, b := find(summaries, of), find(summaries, over)
	if b.Rate.Median == 0 {
		return 0
	}
	return a.Rate.Median / b.Rate.Median
}

// find returns the drain of a subject, or an empty summary.
func find(summaries []results.Summary, name string) results.Summary {
	for _, s := range summaries {
		if s.Kind == results.Drain && s.Subject == name {
			return s
		}
	}
	return results.Summary{}
}
