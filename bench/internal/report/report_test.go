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

func summary(name string, rate float64, arrived load.Verdict) results.Summary {
	return results.Summary{
		Cell: results.Cell{Kind: results.Drain, Subject: name, Workload: load.Workload{Messages: 100}},
		Rate: stats.Summary{Repeats: 3, Median: rate, Min: rate / 2, Max: rate * 2}, Arrived: arrived,
	}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	t.Run("divides_medians_of_what_was_measured_on_both_sides", func(t *testing.T) {
		t.Parallel()
		got := report.Ratios(report.Comparisons(), []results.Summary{
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

func TestVerdicts(t *testing.T) {
	t.Parallel()
	sound := load.Verdict{Delivered: 300}
	for _, test := range []struct {
		name    string
		rate    float64
		arrived load.Verdict
		want    bool
	}{
		{"pass_at_five_times_the_forwarder", 50, sound, true},
		{"fail_below", 49, sound, false},
		{"fail_for_a_message_that_is_missing_however_fast", 500, load.Verdict{Delivered: 299, Missing: 1}, false},
		{"fail_for_a_message_out_of_order_however_fast", 500, load.Verdict{Delivered: 300, Misordered: 1}, false},
		{"pass_with_a_duplicate", 50, load.Verdict{Delivered: 300, Duplicates: 1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			got := report.Verdicts(&out, report.Comparisons(), []results.Summary{
				summary(subject.OursAMQP, test.rate, test.arrived), summary(subject.ForwarderAMQP, 10, sound),
			})
			if got != test.want {
				t.Errorf("met = %v, want %v:\n%s", got, test.want, out.String())
			}
		})
	}

	t.Run("fail_when_a_sample_broke_off", func(t *testing.T) {
		t.Parallel()
		broken := summary(subject.OursAMQP, 500, sound)
		broken.Errors = []string{"stopped"}
		var out strings.Builder
		if report.Verdicts(&out, report.Comparisons(), []results.Summary{broken, summary(subject.ForwarderAMQP, 10, sound)}) {
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
			summary(subject.RawSQL, 1_234_567, load.Verdict{}),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"to Kafka messages msg/s from – to × raw × forwarder arrived",
			"ours-kafka 100 60 000 30 000 – 120 000 0.75 20.00 ordered",
			"raw-kafka 100 80 000 40 000 – 160 000 1.00 26.67 ordered",
			"forwarder-kafka 100 3 000 1 500 – 6 000 0.04 1.00 LOSSY (3), UNORDERED (2)",
			"",
			"to nowhere messages msg/s from – to × raw × forwarder arrived",
			"raw-sql 100 1 234 567 617 284 – 2 469 134 not published",
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
