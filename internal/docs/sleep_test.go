package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSleep holds tests to waiting for conditions: only a file whose tests run in bubbles of
// testing/synctest, where time is not real, may call time.Sleep. The linter looks after the rest.
func TestSleep(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != root):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		files++
		return sleeps(t, file)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("found no test file at all")
	}
}

// sleeps reports each call of time.Sleep in a file that does not import testing/synctest.
func sleeps(t *testing.T, file string) error {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return err
	}
	for _, imported := range parsed.Imports {
		if name, _ := strconv.Unquote(imported.Path.Value); name == "testing/synctest" {
			return nil
		}
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sleep" {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == "time" {
				t.Errorf("%s sleeps: wait for a condition with a deadline", fset.Position(selector.Pos()))
			}
		}
		return true
	})
	return nil
}
