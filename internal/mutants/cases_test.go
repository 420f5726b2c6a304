package mutants_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/mutants"
	"github.com/postroom/postroom/outbox/publishertest"
	"github.com/postroom/postroom/outbox/storetest"
)

// Every case of the kits has a mutant that names it, so that none is there that cannot fail.
func TestCases(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range storetest.Cases() {
		names = append(names, "TestStore/"+c.Name)
	}
	for _, c := range publishertest.Cases() {
		names = append(names, "TestReference/"+c.Name)
	}
	for _, name := range names {
		if !slices.ContainsFunc(mutants.All(), func(m mutants.Mutant) bool {
			_, test, _ := strings.Cut(strings.Replace(m.Test, "TestStore/postgres/", "TestStore/", 1), "#")
			return strings.HasPrefix(name, test)
		}) {
			t.Errorf("%s has no mutant", name)
		}
	}
}

// What a mutant replaces stands in its file exactly once, also after the code has changed.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, m := range mutants.All() {
		source, err := os.ReadFile(filepath.Join("../..", m.File))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.Old); n != 1 {
			t.Errorf("%s: the piece to replace stands %d times in %s, want once: follow the code", m.Name, n, m.File)
		}
	}
}
