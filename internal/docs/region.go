package docs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Region is a marked part of a document.
type Region struct {
	File, Name string // the function it shows, its file relative to the root
	Text       string // what stands between the marks now
}

// region matches the marks and what stands between them.
var region = regexp.MustCompile(`(?s)<!-- snippet: (\S+)#(\S+) -->\n(.*?)<!-- /snippet -->`)

// Regions returns the marked parts of a document, in order. A mark without its partner is an error.
func Regions(document string) ([]Region, error) {
	var regions []Region
	for _, m := range region.FindAllStringSubmatch(document, -1) {
		regions = append(regions, Region{File: m[1], Name: m[2], Text: m[3]})
	}
	begins := strings.Count(document, "<!-- snippet:")
	ends := strings.Count(document, "<!-- /snippet -->")
	if begins != len(regions) || ends != len(regions) {
		return nil, fmt.Errorf("match the marks of snippets: %d begin, %d end, %d are well formed",
			begins, ends, len(regions))
	}
	return regions, nil
}

// Want returns what must stand between the marks, by the source files below root.
func (r Region) Want(root string) (string, error) {
	code, err := Snippet(filepath.Join(root, filepath.FromSlash(r.File)), r.Name)
	if err != nil {
		return "", err
	}
	return "```go\n" + code + "```\n", nil
}

// Refresh returns the document with every region written anew from the source files below root.
func Refresh(document, root string) (string, error) {
	regions, err := Regions(document)
	if err != nil {
		return "", err
	}
	for _, r := range regions {
		want, err := r.Want(root)
		if err != nil {
			return "", err
		}
		begin := "<!-- snippet: " + r.File + "#" + r.Name + " -->\n"
		document = strings.Replace(document, begin+r.Text, begin+want, 1)
	}
	return document, nil
}
