package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	promise = regexp.MustCompile(`(?m)^- (?:.|\n  )+`)
	proof   = regexp.MustCompile("\\[`([a-z0-9/-]+) (Test[^`]*)`\\]\\(([^)]+)\\)")
)

// TestGuarantees: every sentence of docs/guarantees.md links to the file of a test that exists.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	promised, _, found := strings.Cut(string(raw), "\n## What is not promised\n")
	promises := promise.FindAllString(promised, -1)
	if !found || len(promises) == 0 {
		t.Fatal("docs/guarantees.md does not tell what is promised from what is not")
	}
	known := catalogue{}
	for _, text := range promises {
		proofs := proof.FindAllStringSubmatch(text, -1)
		if len(proofs) == 0 {
			t.Errorf("no test is linked to: %s", text)
		}
		known.checkProofs(t, proofs)
	}
}

// TestThreatModel: every test that docs/threat-model.md names exists where it says.
func TestThreatModel(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	proofs := proof.FindAllStringSubmatch(string(raw), -1)
	if len(proofs) == 0 {
		t.Fatal("docs/threat-model.md names no test")
	}
	catalogue{}.checkProofs(t, proofs)
}

func (c catalogue) checkProofs(t *testing.T, proofs [][]string) {
	t.Helper()
	for _, p := range proofs {
		pkg, name, file := p[1], p[2], path.Join("docs", p[3])
		switch {
		case !c.knows(t, pkg, name):
			t.Errorf("package %s has no test %s", pkg, name)
		case path.Dir(file) != pkg || !declares(t, file, name):
			t.Errorf("%s does not hold %s of package %s", file, name, pkg)
		}
	}
}

// declares tells whether a file holds the function of a test, subtests aside.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Error(err)
	}
	test, _, _ := strings.Cut(name, "/")
	return strings.Contains(string(source), "\nfunc "+test+"(")
}
