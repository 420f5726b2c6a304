package docs_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// permissive are the licences that a dependency may have.
var permissive = []string{"Apache-2.0", "BSD-2-Clause", "BSD-2-Clause-Views", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// dependency is a module that a package of ours needs.
type dependency struct {
	path, dir string
	packages  []string // of ours that are built with it; none if only tests are
}

// TestLicences holds docs/licences.md against the licences in the modules themselves.
func TestLicences(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString(licencesHead)
	for _, d := range dependencies(t) {
		licence, err := licenceOf(d.dir)
		if err != nil {
			t.Errorf("%s: %v", d.path, err)
			continue
		}
		for id := range strings.SplitSeq(licence, ", ") {
			if !slices.Contains(permissive, id) {
				t.Errorf("%s has the licence %s: use something else, or say in an ADR why not", d.path, id)
			}
		}
		by := "tests"
		if len(d.packages) > 0 {
			by = "`" + strings.Join(d.packages, "`, `") + "`"
		}
		fmt.Fprintf(&page, "| [%s](https://pkg.go.dev/%s) | %s | %s |\n", d.path, d.path, licence, by)
	}
	checkFile(t, filepath.Join(root, "docs", "licences.md"), page.String(), "make licences")
}

const licencesHead = `# Licences of dependencies

postroom has the MIT licence. This is what its packages, its command, its examples and its tests are built with, and the
licence that each module brings along. Who imports ` + "`outbox`" + ` alone gets ` + "`github.com/google/uuid`" + `
and nothing else.

This page is made by ` + "`make licences`" + `, and a test tells when it is out of date or when a licence is not among
` + "MIT, BSD, ISC, Apache 2.0 and MPL 2.0" + `. The tools of ` + "[`bench`](../bench)" + ` are a module of their own.

| module | licence | needed by |
|---|---|---|
`

// dependencies returns the modules that packages and tests of ours are built with, by path.
func dependencies(t *testing.T) []dependency {
	t.Helper()
	built, tested := goList(t), goList(t, "-test")
	found := make(map[string]*dependency)
	for _, p := range tested {
		if p.Module != nil && p.Module.Path != module && found[p.Module.Path] == nil {
			found[p.Module.Path] = &dependency{path: p.Module.Path, dir: p.Module.Dir}
		}
	}
	for _, p := range built {
		name, isOurs := strings.CutPrefix(p.ImportPath, module+"/")
		if !isOurs || strings.Contains("/"+name+"/", "/internal/") {
			continue
		}
		for _, dep := range p.Deps {
			if m := built[dep].Module; m != nil && m.Path != module {
				d := found[m.Path]
				if !slices.Contains(d.packages, part(name)) {
					d.packages = append(d.packages, part(name))
				}
			}
		}
	}
	return sorted(found)
}

// part is what the page calls a package of ours.
func part(name string) string {
	if within(name, "examples") {
		return "examples"
	}
	return name
}

func sorted(found map[string]*dependency) (all []dependency) {
	for _, d := range found {
		slices.Sort(d.packages)
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b dependency) int { return cmp.Compare(a.path, b.path) })
	return all
}

// listed is what `go list` says about a package and the module that it comes from.
type listed struct {
	ImportPath string
	Deps       []string
	Module     *struct{ Path, Dir string }
}

func goList(t *testing.T, flags ...string) map[string]listed {
	t.Helper()
	args := slices.Concat([]string{"list", "-deps", "-json=ImportPath,Deps,Module"}, flags, []string{"./..."})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := make(map[string]listed)
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("decode the output of go list: %v", err)
		}
		packages[p.ImportPath] = p
	}
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying)`)

// licenceOf returns the names of the licences that the files at the root of a module hold.
func licenceOf(dir string) (string, error) {
	const sure = 75 // percent of a file that has to be the text of licences
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	names := make(map[string]bool)
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		if cover := licensecheck.Scan(text); cover.Percent >= sure {
			for _, m := range cover.Match {
				names[m.ID] = true
			}
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("find a licence in %s: none that is known", dir)
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", "), nil
}
