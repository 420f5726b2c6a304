package report_test

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/subject"
)

// run is one of two rounds, in which ours was 12 and 8 times as fast as the forwarder, and then 0.5 times raw.
func run() *results.File {
	f := &results.File{Versions: map[string]string{"go": "go1"}}
	for repeat, rates := range [][3]float64{{120, 10, 240}, {80, 10, 160}} {
		for i, name := range []string{subject.OursAMQP, subject.ForwarderAMQP, subject.RawAMQP} {
			f.Samples = append(f.Samples, results.Sample{
				Cell:   results.Cell{Kind: results.Drain, Subject: name, Workload: even},
				Repeat: repeat + 1, Rate: rates[i], Arrived: load.Verdict{Delivered: 100},
			})
		}
	}
	f.Summarize()
	return f
}

func TestPage(t *testing.T) {
	t.Parallel()
	page, err := report.Page(run(), report.DrainComparisons(even))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, want string }{
		{"shows_a_target_that_is_met_with_the_spread_of_rounds", "| `amqp_vs_forwarder` | Watermill's forwarder | at least 10 | 10.0 | 8.00 – 12.0 | met |"},
		{"shows_one_that_is_missed", "| `amqp_vs_raw` | the bare pipeline | at least 0.8 | 0.50 | 0.50 – 0.50 | **missed** |"},
		{"says_why", "**`amqp_vs_raw`** is 0.50 and not at least 0.8.\nThe claim"},
		{"shows_one_that_was_not_measured", "| `kafka_vs_river` | River's workers | at least 3 | – |  | not measured |"},
		{"shows_rates", "| ours-amqp | 100 | 1000 | 300 | 100 | 80 – 120 | 0.50 | 10.00 |"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(page, test.want) {
				t.Errorf("page lacks %q:\n%s", test.want, page)
			}
		})
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()

	t.Run("has_a_line_for_each_cell", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		if err := report.CSV(&out, run().Summaries); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 4 || len(lines[1]) != len(lines[0]) {
			t.Fatalf("lines = %v, want a head and three", lines)
		}
		want := []string{"drain", "ours-amqp", "", "100", "1000", "", "300", "2", "100.00"}
		if diff := cmp.Diff(want, lines[1][:len(want)]); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	})
}

func TestPlots(t *testing.T) {
	t.Parallel()

	t.Run("are_sound_and_leave_out_what_was_not_measured", func(t *testing.T) {
		t.Parallel()
		pictures, err := report.Plots(run(), report.DrainComparisons(even))
		if err != nil {
			t.Fatal(err)
		}
		if len(pictures) != 1 || pictures["bench-rabbitmq.svg"] == nil {
			t.Fatalf("%d pictures, want that of RabbitMQ alone", len(pictures))
		}
		reader := xml.NewDecoder(strings.NewReader(string(pictures["bench-rabbitmq.svg"])))
		for {
			if _, err := reader.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
