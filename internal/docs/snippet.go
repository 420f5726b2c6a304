package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
)

// output is the comment that begins an example's expected output.
var output = regexp.MustCompile(`(?m)^\s*//\s*(Unordered output|Output):`)

// Snippet returns the code that a document shows of the function name of a Go file: the body of an
// Example, indented from the margin and without its expected output, or the whole declaration of
// any other function ("Name") or method ("Type.Name"). The code is formatted as gofmt does.
func Snippet(file, name string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the source of a snippet: %w", err)
	}
	src, err := format.Source(raw)
	if err != nil {
		return "", fmt.Errorf("format %s: %w", file, err)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("parse %s: %w", file, err)
	}
	decl := find(parsed, name)
	if decl == nil || decl.Body == nil {
		return "", fmt.Errorf("find function %s in %s: there is none", name, file)
	}
	text := func(from, to token.Pos) string {
		return string(src[fset.Position(from).Offset:fset.Position(to).Offset])
	}
	if decl.Recv == nil && strings.HasPrefix(name, "Example") {
		return body(text(decl.Body.Lbrace+1, decl.Body.Rbrace)), nil
	}
	return text(start(decl), decl.End()) + "\n", nil
}

// find returns the declaration of a function or a method, or nil.
func find(file *ast.File, name string) *ast.FuncDecl {
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && nameOf(fn) == name {
			return fn
		}
	}
	return nil
}

// nameOf returns "Name", or "Type.Name" for a method.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if ident, ok := receiver.(*ast.Ident); ok {
		return ident.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// start is where a declaration begins, its comment included.
func start(fn *ast.FuncDecl) token.Pos {
	if fn.Doc != nil {
		return fn.Doc.Pos()
	}
	return fn.Pos()
}

// body takes one level of indentation and the expected output away.
func body(text string) string {
	if at := output.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	var b bytes.Buffer
	for line := range strings.Lines(strings.Trim(text, "\n \t") + "\n") {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}
