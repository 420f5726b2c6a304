package docs_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/docs"
)

var update = flag.Bool("update", false, "write the code in README.md anew from the examples")

func TestReadme(t *testing.T) {
	file := filepath.Join(root, "README.md")
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
	if len(regions) == 0 {
		t.Fatal("README.md shows no code of an example: mark a region (see doc.go)")
	}
	for _, region := range regions {
		t.Run("shows_the_code_of_"+region.Name, func(t *testing.T) {
			want, err := region.Want(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, region.Text); diff != "" {
				t.Errorf("README.md differs from %s (-want +got); run: go test ./internal/docs -update\n%s",
					region.File, diff)
			}
		})
	}
}
