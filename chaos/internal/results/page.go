package results

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

//go:embed page.tmpl
var page string

// Page is the page about all trials, in Markdown.
func (f *File) Page() (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"minutes":  func(seconds int) string { return (time.Duration(seconds) * time.Second).String() },
		"thousand": thousands,
	}).Parse(page)
	if err != nil {
		return "", err
	}
	type kind struct {
		Name string
		N    int
	}
	var kinds []kind
	for _, name := range slices.Sorted(maps.Keys(f.Faults)) {
		kinds = append(kinds, kind{name, f.Faults[name]})
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"All": f, "Kinds": kinds, "Past": past})
	return b.String(), err
}

// thousands writes n in groups of three digits.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000) + " " + strconv.Itoa(1000 + n%1000)[1:]
}
