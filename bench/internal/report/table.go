package report

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// group is what publishes to one broker.
type group struct {
	title          string
	broker         servers.Kind
	raw, forwarder string
}

func groups() []group {
	return []group{
		{"to Kafka", servers.Kafka, subject.RawKafka, subject.ForwarderKafka},
		{"to RabbitMQ", servers.RabbitMQ, subject.RawAMQP, subject.ForwarderAMQP},
	}
}

// Table writes one line for each drain to a broker.
func Table(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range groups() {
		members := g.members(summaries)
		if len(members) == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\tmessages\tkeys\tbytes\tmsg/s\tfrom – to\t× raw\t× forwarder\tarrived\n", g.title)
		for _, s := range members {
			raw, peer := alike(summaries, g.raw, s), alike(summaries, g.forwarder, s)
			fmt.Fprintf(t, "%s\t%d\t%s\t%d\t%s\t%s – %s\t%s\t%s\t%s\n", s.Subject, s.Workload.Messages, keys(s),
				s.Workload.Size, number(s.Rate.Median), number(s.Rate.Min), number(s.Rate.Max), times(s, raw),
				times(s, peer), arrived(s, g.broker))
		}
		fmt.Fprintln(t, "\t\t\t\t\t\t\t\t")
	}
	return t.Flush()
}

// members returns the drains of the subjects of a broker, in the order of subject.All.
func (g group) members(summaries []results.Summary) []results.Summary {
	var members []results.Summary
	for _, spec := range append(subject.All(), subject.Debezium()) {
		for _, s := range summaries {
			if s.Kind == results.Drain && s.Subject == spec.Name && spec.Broker == g.broker {
				members = append(members, s)
			}
		}
	}
	return members
}

// alike is the drain of another subject with such bodies and keys.
func alike(summaries []results.Summary, name string, s results.Summary) results.Summary {
	w := s.Workload
	w.Messages = 0
	return find(summaries, Of{Subject: name, Workload: w})
}

// keys tells how many there are and how they are chosen.
func keys(s results.Summary) string {
	text := fmt.Sprint(s.Workload.Keys)
	if s.Workload.Spread != "" {
		text += " " + s.Workload.Spread
	}
	return text
}

func arrived(s results.Summary, broker servers.Kind) string {
	if len(s.Errors) > 0 {
		return failures(s)
	}
	if broker == servers.None {
		return "not published"
	}
	return s.Arrived.String()
}

func failures(s results.Summary) string {
	if len(s.Errors) == 0 {
		return ""
	}
	return fmt.Sprintf("FAILED %d times: %s", len(s.Errors), s.Errors[0])
}

func times(s, over results.Summary) string {
	if over.Rate.Median == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", s.Rate.Median/over.Rate.Median)
}

// number writes a rate with groups of three digits.
func number(rate float64) string {
	text := strconv.FormatFloat(rate, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
