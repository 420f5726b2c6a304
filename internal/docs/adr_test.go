package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../docs/adr/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found %d decisions, %v", len(paths), err)
	}
	t.Run("are_numbered_one_after_the_other", func(t *testing.T) {
		t.Parallel()
		for i, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if name, want := filepath.Base(path), fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name, want) {
				t.Errorf("%s: its name must begin with %s", name, want)
			}
			if want := fmt.Sprintf("# %d. ", i+1); !strings.HasPrefix(string(text), want) {
				t.Errorf("%s: its title must begin with %q", filepath.Base(path), want)
			}
		}
	})
}
