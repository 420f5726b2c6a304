package cloudevents

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/postroom/postroom/outbox"
)

// structuredType is the media type of an event in the JSON format.
const structuredType = "application/cloudevents+json; charset=UTF-8"

// Event is what goes out for a message.
type Event struct {
	Headers     []outbox.Header // those of [outbox.WireHeaders], then the attributes
	ContentType string          // of Body, as the header content-type has it
	Body        []byte          // shared with the message unless the mode is Structured
}

// Encode returns what goes out for m, with the prefix of the broker's binding. Its headers lie in scratch if there is
// room, so that one serves many messages. An error is about m alone, and permanent.
func (c Config) Encode(m *outbox.Message, prefix string, scratch []outbox.Header) (Event, error) {
	e := Event{Headers: outbox.AppendWireHeaders(scratch[:0], m), ContentType: m.ContentType, Body: m.Payload}
	if c.Mode == Off || isEvent(m.ContentType) {
		return e, nil
	}
	as, err := c.attributes(m)
	if err != nil {
		return Event{}, err
	}
	e.Headers = withoutExtensions(e.Headers)
	if c.Mode == Binary {
		for _, a := range as {
			e.Headers = replace(e.Headers, cmp.Or(c.Prefix, prefix)+a.name, a.value)
		}
		return e, nil
	}
	e.ContentType, e.Body = structuredType, structured(as, m)
	e.Headers = replace(e.Headers, outbox.HeaderContentType, structuredType)
	return e, nil
}

// isEvent tells messages that are events already: a receiver takes their content type for one.
func isEvent(contentType string) bool {
	const events = "application/cloudevents"
	return len(contentType) >= len(events) && strings.EqualFold(contentType[:len(events)], events)
}

// withoutExtensions leaves out the headers that are attributes of the event.
func withoutExtensions(hs []outbox.Header) []outbox.Header {
	kept := hs[:0]
	for _, h := range hs {
		if !strings.HasPrefix(h.Name, extensionPrefix) {
			kept = append(kept, h)
		}
	}
	return kept
}

// replace gives name its only value: readers take the first or the last of several.
func replace(hs []outbox.Header, name, value string) []outbox.Header {
	kept, placed := hs[:0], false
	for _, h := range hs {
		if h.Name != name {
			kept = append(kept, h)
		} else if !placed {
			kept, placed = append(kept, outbox.Header{Name: name, Value: value}), true
		}
	}
	if !placed {
		kept = append(kept, outbox.Header{Name: name, Value: value})
	}
	return kept
}

// structured writes the event by hand, so that a payload keeps its bytes; an encoder would escape and compact it.
func structured(as []attribute, m *outbox.Message) []byte {
	b := make([]byte, 0, 512+len(m.Payload)*4/3)
	b = append(b, '{')
	for _, a := range as {
		b = appendMember(b, a.name)
		if a.name == attrVersion {
			b = append(b, a.value...)
		} else {
			b = appendString(b, a.value)
		}
	}
	if m.ContentType != "" {
		b = appendString(appendMember(b, attrContentType), m.ContentType)
	}
	switch {
	case m.Payload == nil:
	case isJSON(m):
		b = append(appendMember(b, "data"), m.Payload...)
	default:
		b = append(appendMember(b, "data_base64"), '"')
		b = base64.StdEncoding.AppendEncode(b, m.Payload)
		b = append(b, '"')
	}
	return append(b, '}')
}

func appendMember(b []byte, name string) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func appendString(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always can be
	return append(b, text...)
}

// isJSON reports whether m's payload may stand in a JSON text as it is, as its type and its bytes say.
func isJSON(m *outbox.Message) bool {
	media, _, err := mime.ParseMediaType(m.ContentType)
	if err != nil {
		return false
	}
	named := strings.HasSuffix(media, "/json") || strings.HasSuffix(media, "+json")
	return named && utf8.Valid(m.Payload) && json.Valid(m.Payload)
}
