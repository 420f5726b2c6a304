package cloudevents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/postroom/postroom/outbox"
)

// Attributes of an event that its data has nothing to do with. Those of the specification come first.
const (
	attrSpecVersion = "specversion"
	attrContentType = "datacontenttype"
	attrVersion     = "version" // our extensions; correlationid, traceparent and tracestate are documented ones
	attrTenant      = "tenant"
	attrCorrelation = "correlationid"
	specVersion     = "1.0"
)

// extensionPrefix marks the headers of a message that are extension attributes of its event, on every broker.
const extensionPrefix = "ce_"

// attribute is one name and value; all are strings but the version, which is an integer.
type attribute struct{ name, value string }

// attributes returns those of m's event but for the type of its data, which each mode puts elsewhere.
func (c Config) attributes(m *outbox.Message) ([]attribute, error) {
	as := []attribute{
		{attrSpecVersion, specVersion},
		{"id", m.ID.String()},
		{"source", c.Source},
		{"type", m.Type},
	}
	add := func(name, value string) {
		if value != "" {
			as = append(as, attribute{name, value})
		}
	}
	add("subject", c.subject(m))
	if !m.CreatedAt.IsZero() {
		add("time", m.CreatedAt.UTC().Format(time.RFC3339Nano))
	}
	add(attrVersion, strconv.Itoa(m.Version))
	add(attrTenant, m.Tenant)
	for _, h := range m.Headers {
		as = set(as, attributeOf(h.Name), h.Value)
	}
	return as, check(as)
}

// attributeOf returns the attribute that a header of a message becomes as well, or instead; "" for others.
func attributeOf(header string) string {
	switch header {
	case outbox.HeaderCorrelationID:
		return attrCorrelation
	case "traceparent", "tracestate":
		return header
	}
	name, isExtension := strings.CutPrefix(header, extensionPrefix)
	if !isExtension {
		return ""
	}
	return name
}

// set appends an attribute that is not there yet: the fields of a message win over its headers, and of its headers
// the first.
func set(as []attribute, name, value string) []attribute {
	taken := func(a attribute) bool { return a.name == name }
	if name == "" || value == "" || name == attrContentType || slices.ContainsFunc(as, taken) {
		return as
	}
	return append(as, attribute{name, value})
}

// check holds as against the specification: names are lower-case letters and digits, and no value holds a character
// that the type String forbids.
func check(as []attribute) error {
	for _, a := range as {
		if strings.Trim(a.name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || a.name == "data" {
			return fmt.Errorf("encode CloudEvent: %q is no name of an extension attribute: use a to z and 0 to 9", a.name)
		}
		if a.value == "" {
			return fmt.Errorf("encode CloudEvent: attribute %s must not be empty", a.name)
		}
		if strings.ContainsFunc(a.value, forbidden) {
			return fmt.Errorf("encode CloudEvent: attribute %s must not hold control characters or noncharacters", a.name)
		}
	}
	return nil
}

// forbidden tells control characters and Unicode's noncharacters.
func forbidden(r rune) bool {
	return unicode.IsControl(r) || r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF
}
