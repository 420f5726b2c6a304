package results

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFile(t *testing.T) {
	t.Parallel()

	t.Run("adds_trials_up_and_replaces_one_that_was_repeated", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "latest.json")
		run := func(seed uint64, messages, killed int, recovery float64) Run {
			return Run{Seed: seed, Broker: "kafka", Nodes: 3, Started: time.Now(), Figures: Figures{
				Faults: map[string]int{"kill": killed}, Messages: messages, RecoverySeconds: recovery,
			}}
		}
		for _, r := range []Run{run(2, 500, 9, 9), run(1, 100, 2, 3), run(2, 50, 1, 1)} {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			f.Add(r)
			if err := f.Save(path); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		want := Figures{Faults: map[string]int{"kill": 3}, FaultCount: 3, Messages: 150, RecoverySeconds: 3}
		if diff := cmp.Diff(want, f.Figures); diff != "" {
			t.Error(diff)
		}
		if len(f.Runs) != 2 || f.Runs[0].Seed != 1 {
			t.Errorf("runs %+v", f.Runs)
		}
	})
}

func TestPage(t *testing.T) {
	t.Parallel()

	t.Run("is_what_the_results_say", func(t *testing.T) {
		t.Parallel()
		f, err := Open("../../results/latest.json")
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Page()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../../docs/reliability.md")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("write the page again with: cd chaos && go run . -page\n%s", diff)
		}
	})

	t.Run("groups_digits", func(t *testing.T) {
		t.Parallel()
		for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 000", 2_034_005: "2 034 005"} {
			if got := thousands(n); got != want {
				t.Errorf("thousands(%d) = %q, want %q", n, got, want)
			}
		}
	})
}
