package docs

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

var (
	// fence matches a block of code, with the line that begins it.
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	// span matches code within a line.
	span = regexp.MustCompile("`[^`\n]+`")
	// comment matches what a reader never sees.
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	// link matches the target of a link or an image, in Markdown and in HTML.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	// heading matches the text of a heading.
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	// label matches a link within a heading, of which its text alone counts.
	label = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Links returns the targets of a Markdown document's links and images, in order.
func Links(document string) (targets []string) {
	prose := span.ReplaceAllString(fence.ReplaceAllString(document, ""), "``")
	for _, m := range link.FindAllStringSubmatch(comment.ReplaceAllString(prose, ""), -1) {
		targets = append(targets, m[1]+m[2])
	}
	return targets
}

// Anchors returns the names by which a Markdown document's headings are linked to, as GitHub makes them.
func Anchors(document string) map[string]bool {
	anchors := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		name := anchor(label.ReplaceAllString(m[1], "$1"))
		unique := name
		for n := 1; anchors[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		anchors[unique] = true
	}
	return anchors
}

// anchor keeps letters, digits, hyphens and underscores of a heading, and makes hyphens of blanks.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// makeCall matches the targets of a command that a document shows.
var makeCall = regexp.MustCompile(`\bmake ([a-z][a-z-]*)\b`)

// MakeTargets returns the targets of make that a Markdown document tells its reader to call, in its code.
func MakeTargets(document string) (targets []string) {
	code := append(fence.FindAllString(document, -1),
		span.FindAllString(fence.ReplaceAllString(document, ""), -1)...)
	for _, m := range makeCall.FindAllStringSubmatch(strings.Join(code, "\n"), -1) {
		targets = append(targets, m[1])
	}
	return targets
}
