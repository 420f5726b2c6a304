package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/postroom/postroom/bench/internal/latency"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// LatencyComparisons are the ratios of the time from a commit to a consumer, at 500 messages a second.
func LatencyComparisons() []Comparison {
	of := func(name, figure string) Of {
		return Of{Kind: results.Latency, Subject: name, Condition: "500/s", Figure: figure}
	}
	vs := func(name, what, ours, direct, figure string) Comparison {
		return Comparison{Name: name, What: what, Of: of(ours, figure), Over: of(direct, figure), AtMost: 3}
	}
	return []Comparison{
		vs("latency_p50_vs_direct", "p50 on Kafka", subject.OursKafka, subject.DirectKafka, latency.P50),
		vs("latency_p99_vs_direct", "p99 on Kafka", subject.OursKafka, subject.DirectKafka, latency.P99),
		vs("amqp_latency_p50_vs_direct", "p50 on RabbitMQ", subject.OursAMQP, subject.DirectAMQP, latency.P50),
		vs("amqp_latency_p99_vs_direct", "p99 on RabbitMQ", subject.OursAMQP, subject.DirectAMQP, latency.P99),
	}
}

// LatencyTable writes one line for each load that was offered.
func LatencyTable(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := false
	for _, s := range summaries {
		if s.Kind != results.Latency {
			continue
		}
		if !head {
			fmt.Fprintln(t, "commit → consumer\toffered\tmsg/s\tp50 ms\tp99 ms\tp99.9 ms\tmax ms\tarrived")
			head = true
		}
		f := s.Figures
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%s\n", s.Subject, s.Condition, number(s.Rate.Median),
			f[latency.P50].Median, f[latency.P99].Median, f[latency.P999].Median, f[latency.Max].Median, outcome(s))
	}
	return t.Flush()
}

// outcome is what became of the messages of a cell.
func outcome(s results.Summary) string {
	if len(s.Errors) > 0 {
		return failures(s)
	}
	return s.Arrived.String()
}
