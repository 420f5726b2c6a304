package watermilladapter

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// FuzzMapping: a Watermill message is refused by a *FieldError, or comes out of the outbox with the same UUID, payload
// and key, and with all its metadata but what the outbox writes itself.
func FuzzMapping(f *testing.F) {
	const id = "0198c5a0-0000-7000-8000-000000000001"
	f.Add(id, "orders", []byte("{}"), "k", "OrderPlaced", "trace", "1", "tenant", "acme")
	f.Add("", "", []byte(nil), "", "", "", "", "type", "")
	f.Add("{0198c5a0-0000-7000-8000-000000000001}", "t", []byte{}, "k", "n", "version", "65536", "Version", "2")
	f.Add(strings.ToUpper(id), "t", []byte("x"), "k", "", "TYPE", "a", "type", "b")
	f.Add("00000000-0000-0000-0000-000000000000", "t", []byte("x"), "\x00", "n",
		"_watermill_message_uuid", "f", "created_at", "f")
	f.Fuzz(func(t *testing.T, id, topic string, payload []byte, key, name, name1, value1, name2, value2 string) {
		from := message.NewMessage(id, payload)
		from.Metadata = message.Metadata{name1: value1, name2: value2, defaultKeyMetadata: key, metadataName: name}
		to, err := newMapping(PublisherConfig{}).message(topic, from)
		if err == nil {
			var prepared []*outbox.Message
			if prepared, err = outbox.Prepare(t.Context(), outbox.EnqueueConfig{}, to); err == nil {
				to = prepared[0]
			}
		}
		if err != nil {
			if _, ok := errors.AsType[*outbox.FieldError](err); !ok {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		if to.ID.String() != strings.ToLower(id) || to.Key != from.Metadata[defaultKeyMetadata] || to.Topic != topic ||
			string(to.Payload) != string(payload) {
			t.Fatalf("%+v became %+v", from, to)
		}
		got := metadata(to, defaultKeyMetadata)
		if got[metadataName] != to.Type || got[defaultKeyMetadata] != to.Key {
			t.Fatalf("%+v became %+v", from.Metadata, got)
		}
		for name, value := range from.Metadata {
			if !written(name) && got[name] != value {
				t.Fatalf("metadata %q %q became %q", name, value, got[name])
			}
		}
	})
}

// written reports that the outbox writes a header of that name, from a field.
func written(name string) bool {
	switch strings.ToLower(name) {
	case outbox.HeaderID, outbox.HeaderType, outbox.HeaderVersion, outbox.HeaderTenant, outbox.HeaderContentType,
		outbox.HeaderCreatedAt, metadataName:
		return true
	}
	return false
}
