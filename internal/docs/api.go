package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// API lists what a package exports, as declarations without comments and bodies, in an order that does not depend on
// its files.
func API(dir string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", fmt.Errorf("find the files of %s: %w", dir, err)
	}
	fset := token.NewFileSet()
	var listed []listing
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", fmt.Errorf("parse %s: %w", path, err)
		}
		if !ast.FileExports(file) {
			continue
		}
		for _, decl := range file.Decls {
			if hidden(decl) {
				continue
			}
			text, err := declaration(fset, decl)
			if err != nil {
				return "", fmt.Errorf("print a declaration of %s: %w", path, err)
			}
			listed = append(listed, listing{place(decl), text})
		}
	}
	slices.SortFunc(listed, func(a, b listing) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.text, b.text))
	})
	var b strings.Builder
	for _, l := range listed {
		fmt.Fprintln(&b, l.text)
	}
	return b.String(), nil
}

// hidden tells imports, and methods of types that are not exported.
func hidden(decl ast.Decl) bool {
	switch d := decl.(type) {
	case *ast.GenDecl:
		return d.Tok == token.IMPORT
	case *ast.FuncDecl:
		owner, _, isMethod := strings.Cut(nameOf(d), ".")
		return isMethod && !ast.IsExported(owner)
	}
	return false
}

// listing is a declaration as it is listed, and where it belongs.
type listing struct{ place, text string }

// place sorts constants before variables, functions and types, and methods behind their type.
func place(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if owner, _, isMethod := strings.Cut(nameOf(d), "."); isMethod {
			return "4 type " + owner + " method " + d.Name.Name
		}
		return "3 func " + d.Name.Name
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
			return "4 type " + spec.Name.Name
		}
		if spec, ok := d.Specs[0].(*ast.ValueSpec); ok && d.Tok == token.VAR {
			return "2 var " + spec.Names[0].Name
		} else if ok {
			return "1 const " + spec.Names[0].Name
		}
	}
	return ""
}

// gap matches empty lines within a declaration.
var gap = regexp.MustCompile(`\n(\s*\n)+`)

// declaration prints an exported declaration without what it is made of: bodies, and the values of variables.
func declaration(fset *token.FileSet, decl ast.Decl) (string, error) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Body = nil
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				v.Values = nil
			}
		}
	}
	var b bytes.Buffer
	if err := format.Node(&b, fset, decl); err != nil {
		return "", err
	}
	return gap.ReplaceAllString(b.String(), "\n"), nil // where comments were
}
