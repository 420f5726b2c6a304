package docs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/docs"
)

// TestAPI holds what packages export against the lists of docs/api, so that nothing is exported, changed or taken away
// by accident: whoever means it writes the lists anew, and a reviewer sees it.
func TestAPI(t *testing.T) {
	t.Parallel()
	listed := make(map[string]bool)
	for _, dir := range publicPackages(t) {
		listed[filepath.FromSlash(dir+".txt")] = true
		t.Run(dir, func(t *testing.T) {
			got, err := docs.API(filepath.Join(root, filepath.FromSlash(dir)))
			if err != nil {
				t.Fatal(err)
			}
			checkFile(t, filepath.Join(root, "docs", "api", filepath.FromSlash(dir)+".txt"), got, "make api")
		})
	}
	t.Run("has_an_example_of_each_package", func(t *testing.T) {
		for _, dir := range publicPackages(t) {
			if !hasExample(t, dir) {
				t.Errorf("%s has no Example function, by which its documentation shows what it is for", dir)
			}
		}
	})
	t.Run("lists_no_package_that_is_gone", func(t *testing.T) {
		lists := os.DirFS(filepath.Join(root, "docs", "api"))
		err := fs.WalkDir(lists, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !listed[filepath.FromSlash(name)] {
				t.Errorf("docs/api/%s is of no public package: remove it", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// hasExample tells whether a package's tests have an Example function.
func hasExample(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		return bytes.Contains(source, []byte("\nfunc Example"))
	})
}

// private matches folders of packages that no application imports.
var private = regexp.MustCompile(`(^|/)internal(/|$)|^(examples|chaos)(/|$)`)

// publicPackages returns the packages that applications import, by their folders.
func publicPackages(t *testing.T) (dirs []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir := strings.TrimPrefix(path, module+"/")
		if name != "main" && !private.MatchString(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		t.Fatal("go list knows no public package")
	}
	return dirs
}

// checkFile holds a generated file against what it should say, or writes it with -update; command does that.
func checkFile(t *testing.T, file, want, command string) {
	t.Helper()
	if *update {
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(want), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run: %s", err, command)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("%s is not what there is now (-file +now); run: %s\n%s", filepath.Base(file), command, diff)
	}
}
