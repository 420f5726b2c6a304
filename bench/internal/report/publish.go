package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// PublishComparisons are the ratios of publishers, with their targets.
func PublishComparisons() []Comparison {
	vs := func(name, ours, other string, atLeast float64) Comparison {
		return Comparison{Name: name, Of: Of{Subject: ours}, Over: Of{Subject: other}, AtLeast: atLeast}
	}
	return []Comparison{
		vs("kafka_vs_bare", subject.KafkaOurs, subject.KafkaBare, 0.9),
		vs("kafka_vs_watermill", subject.KafkaOurs, subject.KafkaWatermill, 10),
		vs("amqp_vs_bare", subject.AMQPOurs, subject.AMQPBare, 0.9),
		vs("amqp_vs_watermill", subject.AMQPOurs, subject.AMQPWatermill, 10),
	}
}

// PublishTable writes one line for each publisher: its rate, and the processor time that a message takes. The latter
// changes little with what else the machine has to do.
func PublishTable(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "publisher\tmessages\tmsg/s\tfrom – to\tclient µs/msg\tbroker µs/msg\tarrived")
	for _, spec := range subject.Publishers() {
		s := find(summaries, Of{Subject: spec.Name})
		if s.Subject == "" {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s – %s\t%.2f\t%.2f\t%s\n", s.Subject, s.Workload.Messages, number(s.Rate.Median),
			number(s.Rate.Min), number(s.Rate.Max), s.CPU["client"], s.CPU["broker"], arrived(s, spec.Broker))
	}
	return t.Flush()
}
