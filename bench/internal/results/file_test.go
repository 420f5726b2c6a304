package results_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/results"
	"github.com/postroom/postroom/bench/internal/stats"
)

var ours = results.Cell{
	Kind: results.Drain, Subject: "ours", Workload: load.Workload{Messages: 100, Keys: 10, Size: 300},
}

func sample(c results.Cell, repeat int, rate float64) results.Sample {
	return results.Sample{
		Cell: c, Repeat: repeat, Rate: rate, Steady: 2 * rate, Arrived: load.Verdict{Delivered: 100},
	}
}

func TestFile(t *testing.T) {
	t.Parallel()

	t.Run("goes_on_where_a_broken_off_run_stopped", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "made", "run.json")
		first := &results.File{Run: "run", Machine: results.ThisMachine(), Versions: map[string]string{"go": "1"}}
		first.Samples = append(first.Samples, sample(ours, 1, 10))
		if err := first.Save(path); err != nil {
			t.Fatal(err)
		}
		second, err := results.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("read back (-written +read):\n%s", diff)
		}
		larger := ours
		larger.Workload.Messages = 200
		for _, test := range []struct {
			cell   results.Cell
			repeat int
			want   bool
		}{
			{ours, 1, true},
			{ours, 2, false},
			{larger, 1, false},
		} {
			if got := second.Has(test.cell, test.repeat); got != test.want {
				t.Errorf("Has(%v, %d) = %v, want %v", test.cell, test.repeat, got, test.want)
			}
		}
	})

	t.Run("is_empty_when_there_is_none_yet", func(t *testing.T) {
		t.Parallel()
		f, err := results.Open(filepath.Join(t.TempDir(), "none.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&results.File{}, f); diff != "" {
			t.Errorf("file (-want +got):\n%s", diff)
		}
	})

	t.Run("sums_up_by_cell_and_leaves_out_rates_of_broken_samples", func(t *testing.T) {
		t.Parallel()
		theirs := ours
		theirs.Subject = "theirs"
		broken := sample(theirs, 2, 1e9)
		broken.Error, broken.Arrived = "stopped", load.Verdict{Delivered: 60, Missing: 40}
		f := &results.File{Samples: []results.Sample{
			sample(ours, 1, 10), sample(theirs, 1, 5), sample(ours, 2, 30), broken, sample(ours, 3, 20),
		}}
		f.Summarize()
		want := []results.Summary{{
			Cell:    ours,
			Rate:    stats.Summary{Repeats: 3, Median: 20, Min: 10, Max: 30},
			Steady:  stats.Summary{Repeats: 3, Median: 40, Min: 20, Max: 60},
			Arrived: load.Verdict{Delivered: 300},
		}, {
			Cell:    theirs,
			Rate:    stats.Summary{Repeats: 1, Median: 5, Min: 5, Max: 5},
			Steady:  stats.Summary{Repeats: 1, Median: 10, Min: 10, Max: 10},
			Arrived: load.Verdict{Delivered: 160, Missing: 40},
			Errors:  []string{"stopped"},
		}}
		if diff := cmp.Diff(want, f.Summaries); diff != "" {
			t.Errorf("summaries (-want +got):\n%s", diff)
		}
		if !f.Summaries[0].Sound() || f.Summaries[1].Sound() {
			t.Error("want the first sound and the second not")
		}
	})
}
