package cloudevents_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

func message() *outbox.Message {
	return &outbox.Message{
		ID: uuid.MustParse("0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77"), Topic: "orders", Key: "order-7", Type: "OrderPlaced",
		Version: 2, Payload: []byte("{ \"id\": 7,\n\"t\": \"<>\" }"), ContentType: "application/json", Tenant: "acme",
		CreatedAt: time.Date(2026, 3, 1, 13, 30, 0, 120_000_000, time.FixedZone("", 3600)),
		Headers: []outbox.Header{
			{Name: "correlation_id", Value: "c-1"},
			{Name: "traceparent", Value: "00-1-2-00"},
			{Name: "other", Value: "o"},
			{Name: "ce_severitytext", Value: "INFO"},
			{Name: "ce_id", Value: "mine"},
			{Name: "ce_empty", Value: ""},
		},
	}
}

func encode(t *testing.T, mode cloudevents.Mode, m *outbox.Message) cloudevents.Event {
	t.Helper()
	e, err := cloudevents.Config{Mode: mode, Source: "/shop"}.Encode(m, cloudevents.KafkaPrefix, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEncode(t *testing.T) {
	t.Parallel()

	t.Run("changes_nothing_when_off", func(t *testing.T) {
		t.Parallel()
		m := message()
		want := cloudevents.Event{Headers: outbox.WireHeaders(m), ContentType: m.ContentType, Body: m.Payload}
		if diff := cmp.Diff(want, encode(t, cloudevents.Off, m)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})

	t.Run("binary_adds_attributes_and_leaves_the_payload", func(t *testing.T) {
		t.Parallel()
		m := message()
		own := outbox.WireHeaders(m)
		want := cloudevents.Event{
			ContentType: "application/json", Body: m.Payload,
			Headers: append(own[:len(own)-3],
				outbox.Header{Name: "ce_specversion", Value: "1.0"},
				outbox.Header{Name: "ce_id", Value: "0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77"},
				outbox.Header{Name: "ce_source", Value: "/shop"},
				outbox.Header{Name: "ce_type", Value: "OrderPlaced"},
				outbox.Header{Name: "ce_subject", Value: "order-7"},
				outbox.Header{Name: "ce_time", Value: "2026-03-01T12:30:00.12Z"},
				outbox.Header{Name: "ce_version", Value: "2"},
				outbox.Header{Name: "ce_tenant", Value: "acme"},
				outbox.Header{Name: "ce_correlationid", Value: "c-1"},
				outbox.Header{Name: "ce_traceparent", Value: "00-1-2-00"},
				outbox.Header{Name: "ce_severitytext", Value: "INFO"},
			),
		}
		if diff := cmp.Diff(want, encode(t, cloudevents.Binary, m)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})

	t.Run("binary_keeps_a_tombstone", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.Payload = nil
		if e := encode(t, cloudevents.Binary, m); e.Body != nil {
			t.Errorf("body = %q, want none", e.Body)
		}
	})

	t.Run("names_no_subject_time_or_tenant_that_is_not_known", func(t *testing.T) {
		t.Parallel()
		m := &outbox.Message{ID: uuid.New(), Topic: "t", Type: "T", Version: 1}
		got := map[string]string{}
		for _, h := range encode(t, cloudevents.Binary, m).Headers {
			got[h.Name] = h.Value
		}
		for _, name := range []string{"ce_subject", "ce_time", "ce_tenant"} {
			if value, there := got[name]; there {
				t.Errorf("%s is %q, want it left out", name, value)
			}
		}
	})

	t.Run("replaces_a_header_that_looks_like_an_attribute", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.Headers = []outbox.Header{{Name: "cloudEvents_type", Value: "mine"}, {Name: "cloudEvents_type", Value: "mine"}}
		config := cloudevents.Config{Mode: cloudevents.Binary, Source: "/shop"}
		e, err := config.Encode(m, cloudevents.AMQPPrefix, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range e.Headers {
			if h.Name == "cloudEvents_type" {
				got = append(got, h.Value)
			}
		}
		if diff := cmp.Diff([]string{"OrderPlaced"}, got); diff != "" {
			t.Errorf("values of cloudEvents_type (-want +got):\n%s", diff)
		}
	})

	t.Run("takes_the_prefix_and_the_subject_that_it_is_given", func(t *testing.T) {
		t.Parallel()
		config := cloudevents.Config{
			Mode: cloudevents.Binary, Source: "/shop", Prefix: "cloudEvents:",
			Subject: func(m *outbox.Message) string { return m.Topic },
		}
		e, err := config.Encode(message(), cloudevents.AMQPPrefix, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := outbox.Header{Name: "cloudEvents:subject", Value: "orders"}
		for _, h := range e.Headers {
			if h == want {
				return
			}
		}
		t.Errorf("headers %v hold no %v", e.Headers, want)
	})

	t.Run("passes_on_what_is_an_event_already", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.ContentType = "Application/CloudEvents+json"
		want := cloudevents.Event{Headers: outbox.WireHeaders(m), ContentType: m.ContentType, Body: m.Payload}
		for _, mode := range []cloudevents.Mode{cloudevents.Binary, cloudevents.Structured} {
			if diff := cmp.Diff(want, encode(t, mode, m)); diff != "" {
				t.Errorf("mode %d (-want +got):\n%s", mode, diff)
			}
		}
	})
}

func TestEncode_structured(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name, contentType string
		payload           []byte
		want              string
	}{
		{"embeds_JSON_byte_for_byte", "application/json", []byte("{ \"id\": 7,\n\"t\": \"<>\" }"), "\"data\":{ \"id\": 7,\n\"t\": \"<>\" }"},
		{"embeds_JSON_of_another_name", "application/vnd.order+json; charset=utf-8", []byte("7"), `"data":7`},
		{"encodes_what_is_JSON_by_name_alone", "application/json", []byte("{"), `"data_base64":"ew=="`},
		{"encodes_JSON_that_is_not_UTF8", "application/json", []byte("\"\xff\""), `"data_base64":"Iv8i"`},
		{"encodes_what_is_JSON_by_chance_alone", "text/plain", []byte("7"), `"data_base64":"Nw=="`},
		{"encodes_an_empty_payload", "application/json", []byte{}, `"data_base64":""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &outbox.Message{
				ID: uuid.MustParse("0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77"), Type: "T\"", Version: 2,
				ContentType: c.contentType, Payload: c.payload,
			}
			e := encode(t, cloudevents.Structured, m)
			want := `{"specversion":"1.0","id":"0198c2a4-7d1e-7b5a-9c3f-2f6a1d0e4b77","source":"/shop","type":"T\"",` +
				`"version":2,"datacontenttype":"` + c.contentType + `",` + c.want + `}`
			if diff := cmp.Diff(want, string(e.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if !json.Valid(e.Body) {
				t.Error("the body is no JSON")
			}
		})
	}

	t.Run("says_so_in_its_content_type_and_keeps_other_headers", func(t *testing.T) {
		t.Parallel()
		m := message()
		e := encode(t, cloudevents.Structured, m)
		const media = "application/cloudevents+json; charset=UTF-8"
		want := outbox.WireHeaders(m)
		want = want[:len(want)-3]
		for i := range want {
			if want[i].Name == outbox.HeaderContentType {
				want[i].Value = media
			}
		}
		if diff := cmp.Diff(want, e.Headers); diff != "" || e.ContentType != media {
			t.Errorf("content type %q, headers (-want +got):\n%s", e.ContentType, diff)
		}
	})

	t.Run("has_no_data_without_a_payload", func(t *testing.T) {
		t.Parallel()
		m := message()
		m.Payload = nil
		var got map[string]any
		if err := json.Unmarshal(encode(t, cloudevents.Structured, m).Body, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"specversion": "1.0", "id": m.ID.String(), "source": "/shop", "type": "OrderPlaced", "subject": "order-7",
			"time": "2026-03-01T12:30:00.12Z", "version": 2.0, "tenant": "acme", "correlationid": "c-1",
			"traceparent": "00-1-2-00", "severitytext": "INFO", "datacontenttype": "application/json",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	})
}

func TestEncode_refuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *outbox.Message){
		"an_attribute_with_a_capital_letter": func(m *outbox.Message) { m.Headers[3].Name = "ce_Severity" },
		"an_attribute_with_a_dash":           func(m *outbox.Message) { m.Headers[3].Name = "ce_a-b" },
		"an_attribute_called_data":           func(m *outbox.Message) { m.Headers[3].Name = "ce_data" },
		"a_control_character":                func(m *outbox.Message) { m.Type = "a\nb" },
		"a_noncharacter":                     func(m *outbox.Message) { m.Key = "a\uFFFE" },
		"an_event_without_a_type":            func(m *outbox.Message) { m.Type = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []cloudevents.Mode{cloudevents.Binary, cloudevents.Structured} {
				m := message()
				change(m)
				config := cloudevents.Config{Mode: mode, Source: "/shop"}
				if e, err := config.Encode(m, cloudevents.KafkaPrefix, nil); err == nil {
					t.Errorf("mode %d: encoded as %v, want an error", mode, e)
				}
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]cloudevents.Config{
		"CloudEvents.Mode":   {Mode: 7},
		"CloudEvents.Source": {Mode: cloudevents.Binary},
	} {
		t.Run("names_"+name, func(t *testing.T) {
			t.Parallel()
			if e, ok := errors.AsType[*outbox.FieldError](config.Check()); !ok || e.Field != name {
				t.Errorf("error = %v, want one of field %s", config.Check(), name)
			}
		})
	}

	t.Run("wants_a_URI_reference", func(t *testing.T) {
		t.Parallel()
		for _, source := range []string{"a b", "http://[", "%zz"} {
			config := cloudevents.Config{Mode: cloudevents.Structured, Source: source}
			if e, ok := errors.AsType[*outbox.FieldError](config.Check()); !ok || e.Code != outbox.CodeMalformed {
				t.Errorf("source %q: error = %v, want that it is malformed", source, config.Check())
			}
		}
	})

	t.Run("asks_for_nothing_when_off", func(t *testing.T) {
		t.Parallel()
		if err := (cloudevents.Config{}).Check(); err != nil {
			t.Error(err)
		}
	})
}
