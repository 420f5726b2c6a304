package cloudevents

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/postroom/postroom/outbox"
)

// Mode is how an event lies in a message of the broker.
type Mode int

// The modes. Off is the default: no CloudEvents.
const (
	Off Mode = iota
	Binary
	Structured
)

// The prefixes of attributes in headers.
const (
	KafkaPrefix = "ce_"
	AMQPPrefix  = "cloudEvents_" // preferred by the AMQP binding, which also knows "cloudEvents:"
)

// Config says how messages become events. The zero value leaves them as they are.
type Config struct {
	// Mode defaults to Off.
	Mode Mode
	// Source names what the events are about as a URI reference, such as /shop or https://example.com/shop. Together
	// with the id it is unique. Required unless Mode is Off.
	Source string
	// Prefix begins the names of attributes in headers. Defaults to the one of the broker's binding: [KafkaPrefix] or
	// [AMQPPrefix]. Some consumers of RabbitMQ want "cloudEvents:".
	Prefix string
	// Subject returns the subject attribute of an event; none if it is empty. Defaults to the message's Key.
	Subject func(m *outbox.Message) string
}

// Check returns what is wrong with c as an [*outbox.FieldError].
func (c Config) Check() error {
	switch c.Mode {
	case Off:
		return nil
	case Binary, Structured:
	default:
		return &outbox.FieldError{
			Field: "CloudEvents.Mode", Code: outbox.CodeOutOfRange, Limit: int(Structured), Got: int(c.Mode),
		}
	}
	if c.Source == "" {
		const hint = "name what sends the events, such as /shop"
		return &outbox.FieldError{Field: "CloudEvents.Source", Code: outbox.CodeMissing, Hint: hint}
	}
	if _, err := url.Parse(c.Source); err != nil || strings.ContainsFunc(c.Source, unicode.IsSpace) {
		const hint = "give a URI reference, such as /shop"
		return &outbox.FieldError{Field: "CloudEvents.Source", Code: outbox.CodeMalformed, Hint: hint}
	}
	return nil
}

func (c Config) subject(m *outbox.Message) string {
	if c.Subject == nil {
		return m.Key
	}
	return c.Subject(m)
}
