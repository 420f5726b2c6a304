package report

import (
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// Of names what is measured. Without messages, it is the drain of the subject whatever its workload.
type Of struct {
	Subject   string
	Condition string
	Messages  int
	Size      int
}

// Comparison is the ratio of the median rates of two cells.
type Comparison struct {
	Name    string
	Of      Of // this one's rate
	Over    Of // is divided by this one's
	AtLeast float64
	// Per is another comparison whose ratio divides this one's: what the same change costs somebody else.
	Per *Comparison
}

// Comparisons are the ratios of drains to a broker that are published, with their targets; 0 is none.
func Comparisons() []Comparison {
	return []Comparison{
		vs("kafka_vs_forwarder", subject.OursKafka, subject.ForwarderKafka, 5),
		vs("kafka_vs_river", subject.OursKafka, subject.RiverKafka, 0),
		vs("kafka_vs_skip_locked", subject.OursKafka, subject.SkipLockedKafka, 0),
		vs("kafka_vs_raw", subject.OursKafka, subject.RawKafka, 0),
		vs("amqp_vs_forwarder", subject.OursAMQP, subject.ForwarderAMQP, 5),
		vs("amqp_vs_river", subject.OursAMQP, subject.RiverAMQP, 0),
		vs("amqp_vs_skip_locked", subject.OursAMQP, subject.SkipLockedAMQP, 0),
		vs("amqp_vs_raw", subject.OursAMQP, subject.RawAMQP, 0),
	}
}

// vs compares two subjects, whatever their workloads.
func vs(name, of, over string, atLeast float64) Comparison {
	return Comparison{Name: name, Of: Of{Subject: of}, Over: Of{Subject: over}, AtLeast: atLeast}
}

// Ratios are those comparisons whose cells were all measured.
func Ratios(comparisons []Comparison, summaries []results.Summary) map[string]float64 {
	ratios := map[string]float64{}
	for _, c := range comparisons {
		if r := ratio(summaries, c); r > 0 {
			ratios[c.Name] = r
		}
	}
	return ratios
}

// ratio is 0 when something that it needs has no rate.
func ratio(summaries []results.Summary, c Comparison) float64 {
	a, b := find(summaries, c.Of), find(summaries, c.Over)
	if b.Rate.Median == 0 {
		return 0
	}
	r := a.Rate.Median / b.Rate.Median
	if c.Per == nil {
		return r
	}
	per := ratio(summaries, *c.Per)
	if per == 0 {
		return 0
	}
	return r / per
}

// find returns a drain, or an empty summary.
func find(summaries []results.Summary, of Of) results.Summary {
	for _, s := range summaries {
		same := Of{s.Subject, s.Condition, s.Workload.Messages, s.Workload.Size}
		if of.Messages == 0 {
			same.Messages, same.Size = 0, 0
		}
		if s.Kind == results.Drain && same == of {
			return s
		}
	}
	return results.Summary{}
}
