package outbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a message, the smallest that any supported broker or database sets.
const (
	MaxTopic          = 249      // bytes; Kafka's limit, below AMQP's 255
	MaxKey            = 1024     // bytes; what every database can index beside lane and number
	MaxName           = 255      // bytes; AMQP's short string: Type, ContentType, header names, correlation id
	MaxHeaderBytes    = 64 << 10 // bytes, names and values together; AMQP sends them in one frame of 128 KiB
	MaxPayloadCeiling = 16 << 20 // bytes; no configuration raises it

	defaultMaxPayload = 8 << 20
	maxVersion        = 65535
	maxYear           = 9998 // of AvailableAt; a year that databases and JSON know, and SQL stores mark pauses beyond it
)

// check holds m against the bounds of the wire and of the table. Everything is found here, before any database is
// touched, because a property that AMQP cannot encode closes the whole connection when it is sent.
func (m *Message) check() error {
	for _, f := range []struct {
		name, value string
		limit       int
		required    bool
	}{
		{"Topic", m.Topic, MaxTopic, true},
		{"Type", m.Type, MaxName, true},
		{"Key", m.Key, MaxKey, false},
		{"ContentType", m.ContentType, MaxName, false},
		{"Transport", m.Transport, MaxName, false},
		{"Tenant", m.Tenant, MaxName, false},
	} {
		if f.required && f.value == "" {
			return &FieldError{Field: f.name, Code: CodeMissing, Hint: "set it"}
		}
		if err := checkText(f.name, f.value, f.limit); err != nil {
			return err
		}
	}
	if m.Version < 1 || m.Version > maxVersion {
		return &FieldError{Field: "Version", Code: CodeOutOfRange, Limit: min(max(m.Version, 1), maxVersion), Got: m.Version}
	}
	if year := m.AvailableAt.UTC().Year(); year < 1 || year > maxYear {
		return &FieldError{
			Field: "AvailableAt", Code: CodeOutOfRange, Limit: min(max(year, 1), maxYear), Got: year,
			Hint: "choose a time within these years",
		}
	}
	return m.checkHeaders()
}

func (m *Message) checkPayload(limit int) error {
	if len(m.Payload) > limit {
		return &FieldError{
			Field: "Payload", Code: CodeTooLong, Limit: limit, Got: len(m.Payload),
			Hint: "store the body elsewhere and send a reference",
		}
	}
	return nil
}

func (m *Message) checkHeaders() error {
	total := 0
	for i, h := range m.Headers {
		if err := h.check(i); err != nil {
			return err
		}
		total += len(h.Name) + len(h.Value)
	}
	if total > MaxHeaderBytes {
		return &FieldError{Field: "Headers", Code: CodeTooLong, Limit: MaxHeaderBytes, Got: total}
	}
	return nil
}

// check holds the ith header of a message against its bounds.
func (h Header) check(i int) error {
	field, err := "Name", checkText("", h.Name, MaxName)
	switch {
	case h.Name == "":
		err = &FieldError{Code: CodeMissing, Hint: "name the header"}
	case err != nil:
	case isReserved(h.Name):
		err = &FieldError{Code: CodeReserved, Hint: h.Name + " is written from the message's own fields"}
	default:
		field, err = "Value", checkText("", h.Value, valueLimit(h.Name))
	}
	if e, ok := errors.AsType[*FieldError](err); ok {
		e.Field = fmt.Sprintf("Headers[%d].%s", i, field)
	}
	return err
}

// valueLimit is the bound of a header's value; the correlation id is also an AMQP property.
func valueLimit(name string) int {
	if name == HeaderCorrelationID {
		return MaxName
	}
	return MaxHeaderBytes
}

func checkText(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return &FieldError{Field: field, Code: CodeTooLong, Limit: limit, Got: len(s), Hint: "shorten it"}
	case !utf8.ValidString(s):
		return &FieldError{Field: field, Code: CodeNotUTF8, Hint: "text must be valid UTF-8"}
	case strings.IndexByte(s, 0) >= 0:
		return &FieldError{Field: field, Code: CodeControl, Hint: "text must not hold a NUL"}
	}
	return nil
}
