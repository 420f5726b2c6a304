package dashboard

import (
	"regexp"
	"strings"

	"github.com/postroom/postroom/outbox"
)

var digits = regexp.MustCompile(`[0-9]+`)

// shownCause is how many bytes of an error a store puts into a group of failures, less what it may cut of a rune.
const shownCause = 200 - 3

// isCause reports whether an error belongs to a group of failures, whose errors differ in digits alone and may have
// been cut.
func isCause(lastError, cause string) bool {
	own, group := digits.ReplaceAllString(lastError, "0"), digits.ReplaceAllString(cause, "0")
	return own == group || len(cause) >= shownCause && strings.HasPrefix(own, group)
}

// longestText is the longest part of a cause that has no digits: what a store can look for in the errors of a group.
func longestText(cause string) (longest string) {
	for _, part := range digits.Split(cause, -1) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// matches tells what the filter cannot.
func (s search) matches(r outbox.Record) bool { return s.Cause == "" || isCause(r.LastError, s.Cause) }
