package watermilladapter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

const (
	metadataName       = "name" // where Watermill's CQRS marshalers put and look for the type
	defaultKeyMetadata = "partition_key"
)

// mapping turns Watermill messages into messages of the outbox.
type mapping struct{ PublisherConfig }

func newMapping(config PublisherConfig) mapping {
	config.KeyMetadata = cmp.Or(config.KeyMetadata, defaultKeyMetadata)
	if config.Type == nil {
		config.Type = func(topic string, _ *message.Message) string { return topic }
	}
	return mapping{config}
}

func (c mapping) messages(topic string, from []*message.Message) ([]*outbox.Message, error) {
	to := make([]*outbox.Message, len(from))
	for i, m := range from {
		converted, err := c.message(topic, m)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(from), err)
		}
		to[i] = converted
	}
	return to, nil
}

func (c mapping) message(topic string, from *message.Message) (*outbox.Message, error) {
	if from == nil {
		return nil, &outbox.FieldError{Field: "Message", Code: outbox.CodeMissing}
	}
	id, err := parseUUID(from.UUID)
	if err != nil {
		return nil, err
	}
	to := &outbox.Message{
		ID:          id,
		Topic:       topic,
		Key:         from.Metadata[c.KeyMetadata],
		Payload:     from.Payload,
		ContentType: c.ContentType,
		Transport:   c.Transport,
	}
	for _, name := range slices.Sorted(maps.Keys(from.Metadata)) {
		setMetadata(to, name, from.Metadata[name])
	}
	to.Type = cmp.Or(from.Metadata[metadataName], to.Type)
	if to.Type == "" {
		to.Type = c.Type(topic, from)
	}
	return to, nil
}

// setMetadata puts a value where it belongs: into the field of a reserved name, else into the headers. Names that
// differ in case alone mean the same field; the lower-case one comes last and wins.
func setMetadata(to *outbox.Message, name, value string) {
	switch strings.ToLower(name) {
	case outbox.HeaderType:
		to.Type = value
	case outbox.HeaderTenant:
		to.Tenant = value
	case outbox.HeaderContentType:
		to.ContentType = cmp.Or(value, to.ContentType)
	case outbox.HeaderVersion:
		to.Version = parseVersion(value)
	case outbox.HeaderID, outbox.HeaderCreatedAt: // the UUID and the database say these
	default:
		to.Headers = append(to.Headers, outbox.Header{Name: name, Value: value})
	}
}

// parseVersion returns 0, which stands for the default, for what is no version of ours: others use the name too.
func parseVersion(s string) int {
	v, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return int(v)
}

// parseUUID takes the 36-character form alone: any other would come out of the broker as a different text.
func parseUUID(s string) (uuid.UUID, error) {
	if s == "" {
		return uuid.Nil, &outbox.FieldError{Field: "UUID", Code: outbox.CodeMissing, Hint: "set it to a new UUID"}
	}
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return uuid.Nil, &outbox.FieldError{Field: "UUID", Code: outbox.CodeMalformed, Hint: "give a UUID of 36 characters"}
	}
	if id == uuid.Nil {
		return uuid.Nil, &outbox.FieldError{Field: "UUID", Code: outbox.CodeMissing, Hint: "it must not be the nil UUID"}
	}
	return id, nil
}

// metadata returns what a Watermill consumer of m reads: the headers that go out on any broker, without the id, which
// is the message's UUID, and with the type under Watermill's own name too.
func metadata(m *outbox.Message, keyMetadata string) message.Metadata {
	headers := outbox.WireHeaders(m)
	md := make(message.Metadata, len(headers)+2)
	for _, h := range headers {
		md[h.Name] = h.Value
	}
	md[metadataName] = cmp.Or(md[metadataName], m.Type) // a header of its own may be empty
	delete(md, outbox.HeaderID)
	if m.Key != "" {
		md[keyMetadata] = m.Key
	}
	return md
}
