package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/stats"
	"github.com/postroom/postroom/bench/internal/subject"
)

var even = load.Workload{Messages: 100, Keys: 1_000, Size: 300}

func summary(name string, rate float64, arrived load.Verdict) results.Summary {
	return results.Summary{
		Cell: results.Cell{Kind: results.Drain, Subject: name, Workload: even},
		Rate: stats.Summary{Repeats: 3, Median: rate, Min: rate / 2, Max: rate * 2}, Arrived: arrived,
	}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	t.Run("divides_medians_of_what_was_measured_on_both_sides", func(t *testing.T) {
		t.Parallel()
		got := report.Ratios(report.DrainComparisons(even), []results.Summary{
			summary(subject.OursKafka, 60, load.Verdict{}),
			summary(subject.ForwarderKafka, 3, load.Verdict{}),
			summary(subject.RawKafka, 80, load.Verdict{}),
			summary(subject.OursAMQP, 10, load.Verdict{}),
		})
		want := map[string]float64{"kafka_vs_forwarder": 20, "kafka_vs_raw": 0.75}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ratios (-want +got):\n%s", diff)
		}
	})
}

func TestRatiosOfFigures(t *testing.T) {
	t.Parallel()
	cell := func(subject string, figures map[string]stats.Summary) results.Summary {
		return results.Summary{
			Cell: results.Cell{Kind: "wait", Subject: subject}, Rate: stats.Summary{Repeats: 1}, Figures: figures,
		}
	}
	summaries := []results.Summary{
		cell("a", map[string]stats.Summary{"p50_ms": {Median: 6}}),
		cell("b", map[string]stats.Summary{"p50_ms": {Median: 2}}),
	}
	of := func(subject string) report.Of { return report.Of{Kind: "wait", Subject: subject, Figure: "p50_ms"} }
	comparisons := []report.Comparison{
		{Name: "ratio", Of: of("a"), Over: of("b"), AtMost: 3},
		{Name: "alone", Of: of("a"), AtMost: 6},
		{Name: "unknown", Of: of("a"), Over: of("c")},
	}

	t.Run("keep_what_is_divided_apart_from_what_stands_alone", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(map[string]float64{"ratio": 3}, report.Ratios(comparisons, summaries)); diff != "" {
			t.Errorf("ratios (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]float64{"alone": 6}, report.Absolutes(comparisons, summaries)); diff != "" {
			t.Errorf("absolutes (-want +got):\n%s", diff)
		}
	})

	t.Run("are_held_against_what_they_may_be_at_most", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		if !report.Verdicts(&out, comparisons, summaries) {
			t.Errorf("not met:\n%s", out.String())
		}
		comparisons := []report.Comparison{{Name: "alone", Of: of("a"), AtMost: 5.9}}
		if report.Verdicts(&out, comparisons, summaries) {
			t.Errorf("met:\n%s", out.String())
		}
	})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	sound := load.Verdict{Delivered: 300}
	for _, test := range []struct {
		name    string
		rate    float64
		arrived load.Verdict
		want    bool
	}{
		{"pass_at_ten_times_the_forwarder", 100, sound, true},
		{"fail_below", 99, sound, false},
		{"fail_for_a_message_that_is_missing_however_fast", 500, load.Verdict{Delivered: 299, Missing: 1}, false},
		{"fail_for_a_message_out_of_order_however_fast", 500, load.Verdict{Delivered: 300, Misordered: 1}, false},
		{"pass_with_a_duplicate", 100, load.Verdict{Delivered: 300, Duplicates: 1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			got := report.Verdicts(&out, report.DrainComparisons(even), []results.Summary{
				summary(subject.OursAMQP, test.rate, test.arrived), summary(subject.ForwarderAMQP, 10, sound),
			})
			if got != test.want {
				t.Errorf("met = %v, want %v:\n%s", got, test.want, out.String())
			}
		})
	}

	t.Run("fail_for_a_duplicate_where_each_message_is_to_come_once", func(t *testing.T) {
		t.Parallel()
		once := []report.Comparison{{Name: "once", Of: report.Of{Subject: subject.OursAMQP}, AtLeast: 1, Once: true}}
		twice := summary(subject.OursAMQP, 10, load.Verdict{Delivered: 300, Duplicates: 1})
		var out strings.Builder
		if report.Verdicts(&out, once, []results.Summary{twice}) {
			t.Errorf("met:\n%s", out.String())
		}
	})

	t.Run("fail_when_a_sample_broke_off", func(t *testing.T) {
		t.Parallel()
		broken := summary(subject.OursAMQP, 500, sound)
		broken.Errors = []string{"stopped"}
		var out strings.Builder
		all := []results.Summary{broken, summary(subject.ForwarderAMQP, 10, sound)}
		if report.Verdicts(&out, report.DrainComparisons(even), all) {
			t.Errorf("met:\n%s", out.String())
		}
	})
}

func TestTable(t *testing.T) {
	t.Parallel()
	t.Run("shows_rates_and_ratios_by_broker_and_what_was_lost", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		err := report.Table(&out, []results.Summary{
			summary(subject.RawKafka, 80_000, load.Verdict{Delivered: 300}),
			summary(subject.OursKafka, 60_000, load.Verdict{Delivered: 300}),
			summary(subject.ForwarderKafka, 3_000, load.Verdict{Delivered: 297, Missing: 3, Misordered: 2}),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"to Kafka messages keys bytes msg/s from – to × raw × forwarder arrived",
			"ours-kafka 100 1000 300 60 000 30 000 – 120 000 0.75 20.00 ordered",
			"raw-kafka 100 1000 300 80 000 40 000 – 160 000 1.00 26.67 ordered",
			"forwarder-kafka 100 1000 300 3 000 1 500 – 6 000 0.04 1.00 LOSSY (3), UNORDERED (2)",
			"",
			"",
		}
		var got []string
		for line := range strings.SplitSeq(out.String(), "\n") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table (-want +got):\n%s", diff)
		}
	})
}

func TestPublishTable(t *testing.T) {
	t.Parallel()
	t.Run("shows_the_processor_time_of_a_message", func(t *testing.T) {
		t.Parallel()
		ours := summary(subject.AMQPOurs, 20_000, load.Verdict{Delivered: 100})
		ours.CPU = map[string]float64{"client": 12.5, "broker": 34}
		var out strings.Builder
		if err := report.PublishTable(&out, []results.Summary{ours}); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"publisher messages msg/s from – to client µs/msg broker µs/msg arrived",
			"amqp-ours 100 20 000 10 000 – 40 000 12.50 34.00 ordered", "",
		}
		var got []string
		for line := range strings.SplitSeq(out.String(), "\n") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table (-want +got):\n%s", diff)
		}
	})
}
