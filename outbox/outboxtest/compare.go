package outboxtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// compare returns how got differs from want, or "" if it does not.
func compare(want, got []*outbox.Message) string {
	pairs := pair(want, got)
	var missing []*outbox.Message
	for i, w := range want {
		if pairs[i] < 0 {
			missing = append(missing, w)
		}
	}
	var extra []*outbox.Message
	for i, g := range got {
		if !slices.Contains(pairs, i) {
			extra = append(extra, g)
		}
	}
	if len(missing)+len(extra) == 0 {
		return disorder(want, pairs)
	}
	return describe(missing, extra)
}

// pair finds for each wanted message the first one that matches and is not another one's, or -1.
func pair(want, got []*outbox.Message) []int {
	pairs := make([]int, len(want))
	for i, w := range want {
		pairs[i] = -1
		for j, g := range got {
			if !slices.Contains(pairs[:i], j) && matches(w, g) {
				pairs[i] = j
				break
			}
		}
	}
	return pairs
}

// matches reports whether g has all that w says.
func matches(w, g *outbox.Message) bool { return show(w) == show(mask(g, w)) }

// mask returns g without what w does not say.
func mask(g, w *outbox.Message) *outbox.Message {
	m := clone(g)
	m.ID = ifSet(w.ID, m.ID)
	m.Topic = ifSet(w.Topic, m.Topic)
	m.Key = ifSet(w.Key, m.Key)
	m.Type = ifSet(w.Type, m.Type)
	m.Version = ifSet(w.Version, m.Version)
	m.ContentType = ifSet(w.ContentType, m.ContentType)
	m.Transport = ifSet(w.Transport, m.Transport)
	m.Tenant = ifSet(w.Tenant, m.Tenant)
	m.AvailableAt, m.CreatedAt = ifSetTime(w.AvailableAt, m.AvailableAt), ifSetTime(w.CreatedAt, m.CreatedAt)
	if w.Payload == nil {
		m.Payload = nil
	}
	m.Headers = slices.DeleteFunc(m.Headers, func(h outbox.Header) bool { return !slices.Contains(w.Headers, h) })
	return m
}

func ifSet[T comparable](want, got T) T {
	var zero T
	if want == zero {
		return zero
	}
	return got
}

func ifSetTime(want, got time.Time) time.Time {
	if want.IsZero() {
		return time.Time{}
	}
	return got
}

// disorder says which messages of a key are not in the order wanted.
func disorder(want []*outbox.Message, pairs []int) string {
	var text strings.Builder
	last := make(map[string]int)
	for i, w := range want {
		before, seen := last[w.Key]
		if w.Key != "" && seen && pairs[i] < pairs[before] {
			fmt.Fprintf(&text, "key %q: want %s before %s, got it after\n", w.Key, name(want[before]), name(w))
		}
		last[w.Key] = i
	}
	return text.String()
}

func name(m *outbox.Message) string {
	return fmt.Sprintf("%s %s", m.Type, printable(m.Payload))
}

// describe puts what is missing beside what is there instead, without the fields that the test does not speak of.
func describe(missing, extra []*outbox.Message) string {
	var text strings.Builder
	for i := range max(len(missing), len(extra)) {
		if i < len(missing) {
			fmt.Fprintln(&text, "-", show(missing[i]))
		}
		if i < len(extra) {
			g := extra[i]
			if i < len(missing) {
				g = mask(g, missing[i])
			}
			fmt.Fprintln(&text, "+", show(g))
		}
	}
	return text.String()
}

// show is a message in a line, without its zero fields.
func show(m *outbox.Message) string {
	var fields []string
	add := func(name string, set bool, format string, value any) {
		if set {
			fields = append(fields, fmt.Sprintf("%s="+format, name, value))
		}
	}
	add("Topic", m.Topic != "", "%q", m.Topic)
	add("Key", m.Key != "", "%q", m.Key)
	add("Type", m.Type != "", "%q", m.Type)
	add("Version", m.Version != 0, "%d", m.Version)
	add("Payload", m.Payload != nil, "%s", printable(m.Payload))
	add("ContentType", m.ContentType != "", "%q", m.ContentType)
	add("Headers", len(m.Headers) > 0, "%q", m.Headers)
	add("Transport", m.Transport != "", "%q", m.Transport)
	add("Tenant", m.Tenant != "", "%q", m.Tenant)
	add("AvailableAt", !m.AvailableAt.IsZero(), "%s", m.AvailableAt.UTC().Format(time.RFC3339Nano))
	add("CreatedAt", !m.CreatedAt.IsZero(), "%s", m.CreatedAt.UTC().Format(time.RFC3339Nano))
	add("ID", m.ID != uuid.Nil, "%s", m.ID)
	return strings.Join(fields, " ")
}

func printable(payload []byte) string {
	if utf8.Valid(payload) && len(payload) > 0 {
		return string(payload)
	}
	return fmt.Sprintf("%q", payload)
}
