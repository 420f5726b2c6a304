package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	t.Parallel()

	t.Run("is_what_the_latest_results_come_to", func(t *testing.T) {
		t.Parallel()
		o := defaults()
		files, err := reportFiles(o)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range files {
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v: write it by make bench-report", err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s is out of date: write it anew by make bench-report (-want +got):\n%s", path, diff)
			}
		}
	})

	t.Run("says_what_to_do_without_results", func(t *testing.T) {
		t.Parallel()
		o := defaults()
		o.dir = t.TempDir()
		if _, err := reportFiles(o); err == nil {
			t.Error("no error without results")
		}
	})
}
