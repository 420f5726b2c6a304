package cloudevents_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// FuzzEncode: a message is refused, or what goes out reads as the same event by the rules of the specification: in both
// modes each attribute once, with the value of the message's own field, and the data unchanged.
func FuzzEncode(f *testing.F) {
	f.Add("order.placed", "k", "application/json", []byte(`{"a": 1}`), "ce_region", "eu")
	f.Add("t", "", "text/plain", []byte("\xff\x00"), "ce_id", "forged")
	f.Add("t", `"}, "id": "x`, "application/json; charset=utf-8", []byte(`{"a":1}, "type": "x"`), "traceparent", "\\\"")
	f.Add("t", "\u2028<", "application/problem+json", []byte("null"), "ce_data", "x")
	f.Add("t", "k", "application/cloudevents+json", []byte("{}"), "ce_Type", "x")
	f.Add("t", "k", "", []byte(nil), "ce_subject", "s")
	f.Fuzz(func(t *testing.T, kind, key, contentType string, payload []byte, name, value string) {
		for _, text := range []string{kind, key, contentType, name, value} {
			if !utf8.ValidString(text) {
				return // Prepare refuses it
			}
		}
		m := &outbox.Message{
			ID: uuid.New(), Topic: "t", Type: kind, Key: key, ContentType: contentType, Payload: payload, Version: 2,
			Headers: []outbox.Header{{Name: name, Value: value}},
		}
		for _, mode := range []cloudevents.Mode{cloudevents.Binary, cloudevents.Structured} {
			e, err := cloudevents.Config{Mode: mode, Source: "/shop"}.Encode(m, cloudevents.KafkaPrefix, nil)
			switch {
			case err != nil:
				if !strings.HasPrefix(err.Error(), "encode CloudEvent: ") {
					t.Fatalf("refused by a stranger: %v", err)
				}
			case strings.HasPrefix(strings.ToLower(contentType), "application/cloudevents"):
				if !bytes.Equal(e.Body, payload) {
					t.Fatalf("an event became %q", e.Body)
				}
			case mode == cloudevents.Binary:
				checkBinary(t, m, e)
			default:
				checkStructured(t, m, e)
			}
		}
	})
}

func checkBinary(t *testing.T, m *outbox.Message, e cloudevents.Event) {
	t.Helper()
	got := map[string]string{}
	for _, h := range e.Headers {
		attribute, ok := strings.CutPrefix(h.Name, cloudevents.KafkaPrefix)
		if !ok {
			continue
		}
		if _, twice := got[attribute]; twice {
			t.Fatalf("attribute %q is there twice: %q", attribute, e.Headers)
		}
		got[attribute] = h.Value
	}
	if got["id"] != m.ID.String() || got["type"] != m.Type || got["source"] != "/shop" || got["specversion"] != "1.0" ||
		m.Key != "" && got["subject"] != m.Key || !bytes.Equal(e.Body, m.Payload) {
		t.Fatalf("%+v became %q, %q", m, e.Headers, e.Body)
	}
}

func checkStructured(t *testing.T, m *outbox.Message, e cloudevents.Event) {
	t.Helper()
	var got struct {
		ID, Type, Source, SpecVersion, Subject string
		ContentType                            string          `json:"datacontenttype"`
		Data                                   json.RawMessage `json:"data"`
		Base64                                 *string         `json:"data_base64"`
	}
	if err := json.Unmarshal(e.Body, &got); err != nil {
		t.Fatalf("%s: %v", e.Body, err)
	}
	if got.ID != m.ID.String() || got.Type != m.Type || got.Source != "/shop" || got.SpecVersion != "1.0" ||
		m.Key != "" && got.Subject != m.Key || got.ContentType != m.ContentType {
		t.Fatalf("%+v became %s", m, e.Body)
	}
	members(t, e.Body)
	switch {
	case m.Payload == nil:
		if got.Data != nil || got.Base64 != nil {
			t.Fatalf("no data became %s", e.Body)
		}
	case got.Base64 != nil:
		if data, err := base64.StdEncoding.DecodeString(*got.Base64); err != nil || !bytes.Equal(data, m.Payload) {
			t.Fatalf("%q became %s", m.Payload, e.Body)
		}
	case !bytes.Contains(e.Body, append([]byte(`"data":`), m.Payload...)):
		t.Fatalf("%q became %s", m.Payload, e.Body)
	}
}

// members fails the test when a member of an object is there twice.
func members(t *testing.T, object []byte) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if seen[name.(string)] {
			t.Fatalf("member %q is there twice: %s", name, object)
		}
		seen[name.(string)] = true
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
}
