//go:build soak

package mutants_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/internal/mutants"
)

// Every mutant has to turn the test of its promise red, and to compile: code that does not build proves nothing.
func TestMutants(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants.All() {
		t.Run(strings.ReplaceAll(m.Name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			out, err := run(t, root, m)
			switch {
			case err == nil:
				t.Errorf("%s stayed green", m.Test)
			case strings.Contains(out, "panic: test timed out"):
				t.Errorf("%s ran out of time, which proves nothing", m.Test)
			case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic: "):
				t.Errorf("%s did not run:\n%s", m.Test, out)
			}
		})
	}
}

func run(t *testing.T, root string, m mutants.Mutant) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	pkg, test, _ := strings.Cut(m.Test, "#")
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=4m", "-overlay", overlay(t, root, m),
		"-run", pattern(test), pkg)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// pattern anchors each part of a test's name at its start.
func pattern(test string) string {
	return "^" + strings.ReplaceAll(test, "/", "/^")
}

// overlay makes the compiler read the mutated text in place of the file.
func overlay(t *testing.T, root string, m mutants.Mutant) string {
	t.Helper()
	file := filepath.Join(root, m.File)
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutated := filepath.Join(dir, "mutated.go")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		mutated:                            []byte(strings.Replace(string(source), m.Old, m.New, 1)),
		filepath.Join(dir, "overlay.json"): list,
	} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}
