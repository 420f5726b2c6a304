package outbox

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of the headers that every publisher writes from a message's fields. HeaderID is Watermill's own name, so
// that its subscribers read the id.
const (
	HeaderID            = "_watermill_message_uuid"
	HeaderType          = "type"
	HeaderVersion       = "version"
	HeaderTenant        = "tenant"
	HeaderContentType   = "content-type"
	HeaderCreatedAt     = "created_at"
	HeaderCorrelationID = "correlation_id" // not reserved: a message may bring its own
)

var reserved = []string{HeaderID, HeaderType, HeaderVersion, HeaderTenant, HeaderContentType, HeaderCreatedAt}

// WireHeaders returns the headers that go out with m on any broker: first those of its fields, then its own in their
// order. A reserved name among its own, which Enqueue refuses, gives way to the field. It is for authors of
// publishers.
func WireHeaders(m *Message) []Header {
	return AppendWireHeaders(make([]Header, 0, len(reserved)+len(m.Headers)), m)
}

// AppendWireHeaders appends to hs what [WireHeaders] returns, for publishers of many messages that keep none of them.
func AppendWireHeaders(hs []Header, m *Message) []Header {
	hs = append(hs,
		Header{HeaderID, m.ID.String()},
		Header{HeaderType, m.Type},
		Header{HeaderVersion, strconv.Itoa(m.Version)},
		Header{HeaderContentType, m.ContentType},
	)
	if m.Tenant != "" {
		hs = append(hs, Header{HeaderTenant, m.Tenant})
	}
	if !m.CreatedAt.IsZero() {
		hs = append(hs, Header{HeaderCreatedAt, wireTime(m.CreatedAt)})
	}
	for _, h := range m.Headers {
		if !isReserved(h.Name) {
			hs = append(hs, h)
		}
	}
	return hs
}

// wireTime is t in RFC 3339 in UTC, in microseconds, which databases keep, without cutting zeros off: the form in which
// Debezium writes a timestamptz. Package time is fast for RFC 3339 alone, and every message is stamped.
func wireTime(t time.Time) string {
	t = t.UTC()
	b := t.AppendFormat(make([]byte, 0, len(time.RFC3339Nano)), time.RFC3339)
	b[len(b)-1] = '.' // where the Z was
	for micros, place := t.Nanosecond()/1000, 100_000; place > 0; place /= 10 {
		b = append(b, '0'+byte(micros/place%10))
	}
	return string(append(b, 'Z'))
}

func isReserved(name string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) })
}

func hasHeader(hs []Header, name string) bool {
	return slices.ContainsFunc(hs, func(h Header) bool { return h.Name == name })
}
