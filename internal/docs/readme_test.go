package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/docs"
)

var update = flag.Bool("update", false, "write the code in README.md and docs anew from the examples")

// Pages that show code of examples; those without a region have nothing to keep true.
func TestPages(t *testing.T) {
	shown := make(map[string]int)
	for name := range readMarkdown(t) {
		t.Run(name, func(t *testing.T) {
			shown[name] = checkRegions(t, filepath.Join(root, filepath.FromSlash(name)))
		})
	}
	for _, name := range []string{"README.md", "docs/extending.md"} {
		if shown[name] == 0 {
			t.Errorf("%s shows no code of an example: mark a region (see doc.go)", name)
		}
	}
}

// checkRegions holds the marked code of a page against its source, and returns how much of it there is.
func checkRegions(t *testing.T, file string) int {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		fresh, err := docs.Refresh(string(raw), root)
		if err != nil {
			t.Fatal(err)
		}
		raw = []byte(fresh)
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	regions, err := docs.Regions(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range regions {
		t.Run("shows_the_code_of_"+region.Name, func(t *testing.T) {
			want, err := region.Want(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, region.Text); diff != "" {
				t.Errorf("%s differs from %s (-want +got); run: go test ./internal/docs -update\n%s",
					filepath.Base(file), region.File, diff)
			}
		})
	}
	return len(regions)
}
