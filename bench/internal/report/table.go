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

// Table writes one line for each subject that was measured, by broker.
func Table(w io.Writer, summaries []results.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, group := range []struct {
		title          string
		broker         servers.Kind
		raw, forwarder string
	}{
		{"to Kafka", servers.Kafka, subject.RawKafka, subject.ForwarderKafka},
		{"to RabbitMQ", servers.RabbitMQ, subject.RawAMQP, subject.ForwarderAMQP},
		{"to nowhere", servers.None, "", ""},
	} {
		members := groupOf(summaries, group.broker)
		if len(members) == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\tmessages\tmsg/s\tfrom – to\t× raw\t× forwarder\tarrived\n", group.title)
		for _, s := range members {
			raw, peer := find(summaries, Of{Subject: group.raw}), find(summaries, Of{Subject: group.forwarder})
			fmt.Fprintf(t, "%s\t%d\t%s\t%s – %s\t%s\t%s\t%s\n", s.Subject, s.Workload.Messages, number(s.Rate.Median),
				number(s.Rate.Min), number(s.Rate.Max), times(s, raw), times(s, peer), arrived(s, group.broker))
		}
		fmt.Fprintln(t, "\t\t\t\t\t\t")
	}
	return t.Flush()
}

// groupOf returns the drains of the subjects of a broker, in the order of subject.All.
func groupOf(summaries []results.Summary, broker servers.Kind) []results.Summary {
	var members []results.Summary
	for _, spec := range subject.All() {
		if s := find(summaries, Of{Subject: spec.Name}); spec.Broker == broker && s.Subject != "" {
			members = append(members, s)
		}
	}
	return members
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
