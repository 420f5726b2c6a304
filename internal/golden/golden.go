// Package golden compares what a test sees with a file under testdata.
//
//	golden.Check(t, "wire/binary", seen)
//
// UPDATE_GOLDEN=1 in the environment writes the file instead: read the difference before you commit it.
package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Check fails the test unless got is what testdata/<name>.golden holds.
func Check(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := write(path, got); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("read the golden file (UPDATE_GOLDEN=1 writes it): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a file of the repository
}
