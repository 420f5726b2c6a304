package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testNames knows the tests of a package by its sources: a test, and the texts that its subtests can be named after.
type testNames struct {
	decls map[string][]ast.Node // functions, methods and variables, by name
	texts map[string]*texts     // by test, as far as they have been asked for
}

// kits are packages whose cases become subtests of whoever runs them.
var kits = map[string]string{"storetest": "outbox/storetest", "publishertest": "outbox/publishertest"}

// readTests parses a package's files, those of its tests included.
func readTests(t *testing.T, dir string) testNames {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := testNames{decls: make(map[string][]ast.Node), texts: make(map[string]*texts)}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			names.add(decl)
		}
	}
	return names
}

func (n testNames) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Body != nil {
			n.decls[d.Name.Name] = append(n.decls[d.Name.Name], d.Body)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range v.Names {
					n.decls[name.Name] = append(n.decls[name.Name], v)
				}
			}
		}
	}
}

// texts are what a subtest may be called: whole names, and patterns for those that are put together.
type texts struct {
	whole    map[string]bool
	patterns []*regexp.Regexp
}

// of returns the texts that a test reaches: its own, those of what it calls, and those of the kits that it runs.
func (n testNames) of(t *testing.T, test string) *texts {
	t.Helper()
	if known, ok := n.texts[test]; ok {
		return known
	}
	found, seen := &texts{whole: make(map[string]bool)}, make(map[string]bool)
	n.texts[test] = found
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, decl := range n.decls[name] {
			for _, used := range found.read(decl) {
				visit(used)
			}
		}
	}
	visit(test)
	for name, dir := range kits {
		if seen[name] {
			for _, decls := range readTests(t, dir).decls {
				for _, decl := range decls {
					found.read(decl)
				}
			}
		}
	}
	return found
}

// read takes the texts of a declaration and returns the names that it uses.
func (x *texts) read(decl ast.Node) (used []string) {
	ast.Inspect(decl, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.Ident:
			used = append(used, e.Name)
		case *ast.BasicLit:
			x.add(pattern(e))
		case *ast.BinaryExpr:
			x.add(pattern(e))
		}
		return true
	})
	return used
}

// Places in a text that are filled when the test runs.
var (
	number = regexp.MustCompile(`%[dt]`)
	word   = regexp.MustCompile(`%[sqv]`)
)

// pattern turns a text, or a sum of texts and other things, into a regular expression. What a group matches has to be
// a text of its own.
func pattern(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			break
		}
		text = regexp.QuoteMeta(strings.ToValidUTF8(strings.ReplaceAll(text, " ", "_"), "?"))
		return word.ReplaceAllString(number.ReplaceAllString(text, `(?:true|false|\d+)`), "(.+)")
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return pattern(e.X) + pattern(e.Y)
		}
	}
	return "(.+)"
}

// add takes a text or a pattern; a pattern of next to nothing would match all.
func (x *texts) add(pattern string) {
	switch {
	case !strings.Contains(pattern, "(.+)") && !strings.Contains(pattern, "(?:"):
		x.whole[strings.ReplaceAll(pattern, `\`, "")] = true
	case len(strings.ReplaceAll(pattern, "(.+)", "")) > 3:
		x.patterns = append(x.patterns, regexp.MustCompile("^"+pattern+"$"))
	}
}

func (x *texts) has(name string) bool {
	if x.whole[name] {
		return true
	}
	for _, p := range x.patterns {
		if filled := p.FindStringSubmatch(name); filled != nil && x.hasAll(filled[1:]) {
			return true
		}
	}
	return false
}

func (x *texts) hasAll(names []string) bool {
	for _, name := range names {
		if !x.whole[name] {
			return false
		}
	}
	return true
}

// have reports whether a subtest's name can be made of the texts, one or more of its parts at a time.
func (x *texts) have(name string) bool {
	for end := 1; end <= len(name); end++ {
		if end < len(name) && name[end] != '/' || !x.has(name[:end]) {
			continue
		}
		if end == len(name) || x.have(name[end+1:]) {
			return true
		}
	}
	return false
}

// catalogue answers for the tests of many packages.
type catalogue map[string]testNames

// knows reports whether a package has a test of that name, subtests included.
func (c catalogue) knows(t *testing.T, pkg, name string) bool {
	t.Helper()
	names, ok := c[pkg]
	if !ok {
		names = readTests(t, path.Clean(pkg))
		c[pkg] = names
	}
	test, sub, isSub := strings.Cut(name, "/")
	if !strings.HasPrefix(test, "Test") || len(names.decls[test]) == 0 {
		return false
	}
	return !isSub || names.of(t, test).have(sub)
}

// The list of what is shown by tests would be worthless if it took every name for a test.
func TestTestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"TestStore/claim/takes_a_message_once":        true, // of a kit
		"TestStore/claim/takes_a_message_twice":       false,
		"TestStore/takes_a_message_once":              false,
		"TestStory":                                   false,
		"New":                                         false,
		"TestStore/claim/takes_a_message_once/thrice": false,
	} {
		if got := (catalogue{}).knows(t, "outbox/memstore", name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"TestPlanLanes/P3_no_swap":                                true, // of a table
		"TestNewRelay/refuses_Poll_outside_its_bounds":            true, // put together
		"TestRelay/parks_nothing_in_a_long_outage/unknown":        true,
		"TestPlanLanes/F5_incumbents_keep_the_extra":              false, // of another test
		"TestRelay/holds_the_key_behind_a_failed_message":         false, // half of one
		"TestRelay/parks_nothing_in_a_long_outage/of_two_minutes": false,
	} {
		if got := (catalogue{}).knows(t, "outbox", name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}
