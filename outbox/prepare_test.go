package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

func TestPrepare_refuses(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		name   string
		change func(*outbox.Message)
		want   outbox.FieldError
	}{
		{"an_empty_topic", func(m *outbox.Message) { m.Topic = "" }, outbox.FieldError{Field: "Topic", Code: outbox.CodeMissing}},
		{"a_topic_of_250_bytes", func(m *outbox.Message) { m.Topic = long(250) }, outbox.FieldError{Field: "Topic", Code: outbox.CodeTooLong, Limit: 249, Got: 250}},
		{"an_empty_type", func(m *outbox.Message) { m.Type = "" }, outbox.FieldError{Field: "Type", Code: outbox.CodeMissing}},
		{"a_type_of_300_bytes", func(m *outbox.Message) { m.Type = long(300) }, outbox.FieldError{Field: "Type", Code: outbox.CodeTooLong, Limit: 255, Got: 300}},
		{"a_key_of_1025_bytes", func(m *outbox.Message) { m.Key = long(1025) }, outbox.FieldError{Field: "Key", Code: outbox.CodeTooLong, Limit: 1024, Got: 1025}},
		{"a_negative_version", func(m *outbox.Message) { m.Version = -1 }, outbox.FieldError{Field: "Version", Code: outbox.CodeOutOfRange, Limit: 1, Got: -1}},
		{"version_65536", func(m *outbox.Message) { m.Version = 65536 }, outbox.FieldError{Field: "Version", Code: outbox.CodeOutOfRange, Limit: 65535, Got: 65536}},
		{"a_time_in_the_year_9999", func(m *outbox.Message) { m.AvailableAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }, outbox.FieldError{Field: "AvailableAt", Code: outbox.CodeOutOfRange, Limit: 9998, Got: 9999}},
		{"a_time_before_Christ", func(m *outbox.Message) { m.AvailableAt = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }, outbox.FieldError{Field: "AvailableAt", Code: outbox.CodeOutOfRange, Limit: 1, Got: -1}},
		{"a_body_above_the_configured_limit", func(m *outbox.Message) { m.Payload = make([]byte, 101) }, outbox.FieldError{Field: "Payload", Code: outbox.CodeTooLong, Limit: 100, Got: 101}},
		{"NUL_in_a_header", func(m *outbox.Message) { m.Headers[0].Value = "a\x00b" }, outbox.FieldError{Field: "Headers[0].Value", Code: outbox.CodeControl}},
		{"invalid_UTF-8_in_a_header", func(m *outbox.Message) { m.Headers[0].Value = "a\xff" }, outbox.FieldError{Field: "Headers[0].Value", Code: outbox.CodeNotUTF8}},
		{"a_header_without_a_name", func(m *outbox.Message) { m.Headers[0].Name = "" }, outbox.FieldError{Field: "Headers[0].Name", Code: outbox.CodeMissing}},
		{"a_reserved_header", func(m *outbox.Message) { m.Headers[0].Name = "Content-Type" }, outbox.FieldError{Field: "Headers[0].Name", Code: outbox.CodeReserved}},
		{"a_correlation_id_that_AMQP_cannot_carry", func(m *outbox.Message) { m.Headers[0] = outbox.Header{Name: "correlation_id", Value: long(256)} }, outbox.FieldError{Field: "Headers[0].Value", Code: outbox.CodeTooLong, Limit: 255, Got: 256}},
		{"headers_that_do_not_fit_one_frame", func(m *outbox.Message) { m.Headers[0] = outbox.Header{Name: "h", Value: long(64 << 10)} }, outbox.FieldError{Field: "Headers", Code: outbox.CodeTooLong, Limit: 64 << 10, Got: 64<<10 + 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := message("k", "body")
			m.Headers = []outbox.Header{{Name: "a", Value: "b"}}
			tc.change(m)
			_, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{MaxPayload: 100}, message("k", "fine"), m)
			got, ok := errors.AsType[*outbox.FieldError](err)
			if !ok {
				t.Fatalf("got %v, want a *FieldError", err)
			}
			got.Hint = ""
			if d := cmp.Diff(&tc.want, got); d != "" {
				t.Error(d)
			}
			if m.ID != uuid.Nil {
				t.Error("a refused message got an id")
			}
		})
	}
	t.Run("a_body_above_16_MiB_whatever_is_configured", func(t *testing.T) {
		t.Parallel()
		m := message("k", "")
		m.Payload = make([]byte, 16<<20+1)
		_, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{MaxPayload: 1 << 30}, m)
		if f, ok := errors.AsType[*outbox.FieldError](err); !ok || f.Limit != 16<<20 {
			t.Errorf("got %v, want a *FieldError", err)
		}
	})
	t.Run("the_same_message_twice", func(t *testing.T) {
		t.Parallel()
		first, twice := message("k", ""), message("k", "")
		_, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{}, first, twice, twice)
		if f, ok := errors.AsType[*outbox.FieldError](err); !ok || f.Code != outbox.CodeDuplicateID {
			t.Errorf("got %v, want a *FieldError", err)
		}
		if first.ID != uuid.Nil || twice.ID != uuid.Nil {
			t.Errorf("refused messages got the ids %v and %v", first.ID, twice.ID)
		}
	})
	t.Run("a_zero_id_that_the_context_gives", func(t *testing.T) {
		t.Parallel()
		ctx := outbox.WithIDs(t.Context(), func() uuid.UUID { return uuid.Nil })
		_, err := outbox.Prepare(ctx, outbox.EnqueueConfig{}, message("k", ""))
		if f, ok := errors.AsType[*outbox.FieldError](err); !ok || f.Field != "ID" || f.Code != outbox.CodeMissing {
			t.Errorf("got %v, want a *FieldError", err)
		}
	})
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	t.Run("writes_only_the_id_into_the_callers_message_and_shares_no_memory", func(t *testing.T) {
		t.Parallel()
		m := message("k", "body")
		m.Headers = []outbox.Header{{Name: "a", Value: "b"}}
		copies, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{}, m)
		if err != nil {
			t.Fatal(err)
		}
		want := message("k", "body")
		want.Headers = []outbox.Header{{Name: "a", Value: "b"}}
		want.ID = m.ID
		if d := cmp.Diff(want, m); d != "" {
			t.Error(d)
		}
		if m.ID.Version() != 7 {
			t.Errorf("got an id of version %d, want 7", m.ID.Version())
		}
		m.Payload[0], m.Headers[0].Value = 'X', "X"
		want.Version, want.ContentType = 1, "application/octet-stream"
		if d := cmp.Diff([]*outbox.Message{want}, copies); d != "" {
			t.Error(d)
		}
	})
	t.Run("keeps_a_nil_payload_apart_from_an_empty_one", func(t *testing.T) {
		t.Parallel()
		tombstone, empty := message("k", ""), message("k", "")
		tombstone.Payload = nil
		copies, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{}, tombstone, empty)
		if err != nil {
			t.Fatal(err)
		}
		if copies[0].Payload != nil || copies[1].Payload == nil {
			t.Errorf("got %v and %v, want nil and empty", copies[0].Payload, copies[1].Payload)
		}
	})
	t.Run("takes_tenant_correlation_ids_and_headers_from_the_context", func(t *testing.T) {
		t.Parallel()
		id := uuid.MustParse("0190a5b2-0000-5000-8000-000000000001")
		ctx := outbox.WithTenant(outbox.WithCorrelationID(t.Context(), "c-1"), "acme")
		ctx = outbox.WithIDs(ctx, func() uuid.UUID { return id })
		own := message("k", "")
		own.ID, own.Tenant = uuid.New(), "other"
		own.Headers = []outbox.Header{{Name: "traceparent", Value: "mine"}}
		config := outbox.EnqueueConfig{Headers: func(context.Context, *outbox.Message) []outbox.Header {
			return []outbox.Header{{Name: "traceparent", Value: "theirs"}}
		}}
		copies, err := outbox.Prepare(ctx, config, message("k", ""), own)
		if err != nil {
			t.Fatal(err)
		}
		if copies[0].ID != id || copies[0].Tenant != "acme" || copies[1].ID != own.ID || copies[1].Tenant != "other" {
			t.Errorf("got %+v and %+v", copies[0], copies[1])
		}
		want := [][]outbox.Header{
			{{Name: "correlation_id", Value: "c-1"}, {Name: "traceparent", Value: "theirs"}},
			{{Name: "traceparent", Value: "mine"}, {Name: "correlation_id", Value: "c-1"}},
		}
		if d := cmp.Diff(want, [][]outbox.Header{copies[0].Headers, copies[1].Headers}); d != "" {
			t.Error(d)
		}
	})
}

func TestWireHeaders(t *testing.T) {
	t.Parallel()
	m := message("k", "")
	m.ID, m.Version = uuid.MustParse("0190a5b2-0000-7000-8000-000000000001"), 2
	m.ContentType, m.Tenant = "application/json", "acme"
	m.Headers = []outbox.Header{{Name: "b", Value: "1"}, {Name: "Type", Value: "stolen"}, {Name: "b", Value: "2"}}
	want := []outbox.Header{
		{Name: "_watermill_message_uuid", Value: "0190a5b2-0000-7000-8000-000000000001"},
		{Name: "type", Value: "OrderPlaced"},
		{Name: "version", Value: "2"},
		{Name: "content-type", Value: "application/json"},
		{Name: "tenant", Value: "acme"},
		{Name: "b", Value: "1"},
		{Name: "b", Value: "2"},
	}
	if d := cmp.Diff(want, outbox.WireHeaders(m)); d != "" {
		t.Error(d)
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	base := errors.New("base")
	for _, tc := range []struct {
		err  error
		want outbox.Class
	}{
		{base, outbox.ClassRefused},
		{outbox.Permanent(base), outbox.ClassPermanent},
		{outbox.Unavailable(outbox.Permanent(base)), outbox.ClassUnavailable}, // the outermost wins
		{outbox.RetryAfter(1, base), outbox.ClassRetryAfter},
	} {
		if got := outbox.ClassOf(tc.err); got != tc.want {
			t.Errorf("class of %v: got %s, want %s", tc.err, got, tc.want)
		}
	}
	if err := outbox.Permanent(nil); err != nil {
		t.Errorf("Permanent(nil): got %v, want nil", err)
	}
	if r := outbox.Failed(nil); r.Accepted() || r.Err() == nil {
		t.Error("Failed(nil) is no failure")
	}
}
