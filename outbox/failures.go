package outbox

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxFailure is how many bytes of an error are compared, and shown.
const maxFailure = 200

var digits = regexp.MustCompile(`[0-9]+`)

// GroupFailures merges groups that failed alike, and returns the largest first. It is for authors of stores: a group
// may be one message, with all of its error.
func GroupFailures(groups []FailureGroup) []FailureGroup {
	type kind struct {
		status             Status
		topic, typ, reason string
		class              Class
	}
	merged := make(map[kind]FailureGroup)
	for _, g := range groups {
		k := kind{g.Status, g.Topic, g.Type, cut(digits.ReplaceAllString(g.Error, "0")), g.Class}
		m, ok := merged[k]
		n := m.Messages + g.Messages
		if !ok || g.Oldest > m.Oldest {
			m = g
		}
		m.Messages, m.Error = n, cut(m.Error)
		merged[k] = m
	}
	return slices.SortedFunc(maps.Values(merged), func(a, b FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(b.Oldest, a.Oldest),
			cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Example.String(), b.Example.String()))
	})
}

func cut(text string) string {
	if len(text) <= maxFailure {
		return text
	}
	return strings.ToValidUTF8(text[:maxFailure], "") // a rune cut in two goes
}
