package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/mutants"
)

// requirements are the groups of requirement ids, each from 1 up, in the order of the page.
var requirements = []struct {
	group string
	last  int
}{
	{"ENQ", 29},
	{"REC", 13},
	{"ST", 28},
	{"LS", 37},
	{"T", 12},
	{"FS", 11},
	{"F", 11},
	{"S", 3},
	{"Z", 4},
	{"P", 9},
	{"CL", 18},
	{"PB", 18},
	{"FAIL", 25},
	{"SH", 21},
	{"CFG", 14},
	{"OP", 20},
}

// line is a line of a table: an id, what it promises, and what shows it.
type line struct {
	id    string
	cells []string
	tests []citation
}

// citation is a test, as the page names it.
type citation struct{ pkg, name string }

var (
	row  = regexp.MustCompile(`(?m)^\| ((?:[A-Z]+-?)?\d+) \| (.*) \|$`)
	cite = regexp.MustCompile("`([a-z0-9/-]+) (Test[^`]*)`")
)

// readConformance returns the lines of docs/conformance.md before and after its heading of the rules.
func readConformance(t *testing.T) (requirements, rules []line) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(raw), "\n## The rules\n")
	if !found {
		t.Fatal("docs/conformance.md has no section of the rules")
	}
	return readLines(before), readLines(after)
}

func readLines(page string) (lines []line) {
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		l := line{id: m[1], cells: strings.Split(m[2], " | ")}
		for _, c := range cite.FindAllStringSubmatch(m[2], -1) {
			l.tests = append(l.tests, citation{c[1], c[2]})
		}
		lines = append(lines, l)
	}
	return lines
}

func ids(lines []line) (ids []string) {
	for _, l := range lines {
		ids = append(ids, l.id)
	}
	return ids
}

func TestConformance(t *testing.T) {
	t.Parallel()
	listed, rules := readConformance(t)

	t.Run("lists_every_requirement_once_in_its_group", func(t *testing.T) {
		t.Parallel()
		var want []string
		for _, r := range requirements {
			for n := 1; n <= r.last; n++ {
				want = append(want, id(r.group, n))
			}
		}
		got := ids(listed)
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ids (-want +got):\n%s", diff)
		}
	})
	t.Run("lists_every_rule_of_the_protocol_in_order", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(protocolRules(t), ids(rules)); diff != "" {
			t.Errorf("rules (-want +got):\n%s", diff)
		}
	})
	t.Run("names_tests_that_exist", func(t *testing.T) {
		t.Parallel()
		known := catalogue{}
		for _, l := range slices.Concat(listed, rules) {
			for _, c := range l.tests {
				if !known.knows(t, c.pkg, c.name) {
					t.Errorf("%s: package %s has no test %s", l.id, c.pkg, c.name)
				}
			}
		}
	})
	t.Run("says_of_each_what_shows_it_or_why_nothing_has_to", func(t *testing.T) {
		t.Parallel()
		for _, l := range listed {
			checkShown(t, l)
		}
		for _, l := range rules {
			if len(l.tests) == 0 {
				t.Errorf("rule %s names no test", l.id)
			}
		}
	})
	t.Run("names_a_mutant_of_each_rule_and_the_test_that_notices_it", func(t *testing.T) {
		t.Parallel()
		checkMutants(t, rules)
	})
}

// protocolRules returns the numbers of the rules in docs/protocol.md.
func protocolRules(t *testing.T) (numbers []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(raw), "\n## The rules\n")
	for _, m := range regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(rules, -1) {
		numbers = append(numbers, m[1])
	}
	if len(numbers) == 0 {
		t.Fatal("docs/protocol.md has no rules")
	}
	return numbers
}

// id is how a requirement is written: short groups, those of worked examples, have no hyphen.
func id(group string, n int) string {
	if len(group) == 1 {
		return fmt.Sprint(group, n)
	}
	return fmt.Sprintf("%s-%d", group, n)
}

// later finds the part of the product that is still to come; parts are those that there will be.
var (
	later = regexp.MustCompile(`\blater: (\w+)`)
	parts = []string{"STORE", "CAPTURE", "OPERATE", "BROKERS"}
)

func checkShown(t *testing.T, l line) {
	t.Helper()
	if len(l.cells) != 2 || l.cells[0] == "" {
		t.Errorf("%s: got %d cells, want the promise and what shows it", l.id, len(l.cells))
		return
	}
	shown := l.cells[1]
	awaited := later.FindAllStringSubmatch(shown, -1)
	for _, part := range awaited {
		if !slices.Contains(parts, part[1]) {
			t.Errorf("%s waits for %s, which nobody builds", l.id, part[1])
		}
	}
	const sentence = 20 // bytes, at least, of a reason
	if len(l.tests)+len(awaited) == 0 && len(shown) < sentence {
		t.Errorf("%s names neither a test nor a reason: %q", l.id, shown)
	}
}

// checkMutants holds the column of mutants against those that there are: each rule's mutants turn a test of its line
// red. A rule without one says why.
func checkMutants(t *testing.T, rules []line) {
	t.Helper()
	for _, m := range mutants.Rules() {
		number, name, _ := strings.Cut(strings.TrimPrefix(m.Name, "rule "), ": ")
		i := slices.IndexFunc(rules, func(l line) bool { return l.id == number })
		if i < 0 {
			t.Errorf("mutant %q is of no rule", m.Name)
			continue
		}
		if !strings.Contains(rules[i].cells[len(rules[i].cells)-1], name) {
			t.Errorf("rule %s does not name its mutant %q", number, name)
		}
		pkg, test, _ := strings.Cut(strings.TrimPrefix(m.Test, "./"), "#")
		if !slices.ContainsFunc(rules[i].tests, func(c citation) bool {
			return c.pkg == pkg && strings.HasPrefix(c.name, test)
		}) {
			t.Errorf("rule %s does not name %s %s, which notices %q", number, pkg, test, name)
		}
	}
	for _, l := range rules {
		if len(l.cells) != 3 || l.cells[2] == "" {
			t.Errorf("rule %s: got %d cells, want rule, tests and mutants", l.id, len(l.cells))
		}
	}
}
