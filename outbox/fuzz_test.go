package outbox_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
)

// FuzzPrepare: a message is refused by a *FieldError that names a field, or every text in it is valid and within its
// bound, and what goes out on a wire has each reserved header once, from the message's field, and then its own headers
// as they are.
func FuzzPrepare(f *testing.F) {
	f.Add("orders", "k", "order.placed", "", "", "traceparent", "00-0af7651916cd43dd-b7ad6b7169203331-01", 1)
	f.Add("", "", "", "text/plain", "acme", "", "", 0)
	f.Add("t", "\x00", "\xff", "a", "b", "TYPE", "x", -1)
	f.Add(strings.Repeat("t", outbox.MaxTopic+1), "k", "t", "c", "n", "_watermill_message_uuid", "forged", 65536)
	f.Add("t", strings.Repeat("k", outbox.MaxKey), "t", "c", "n", "Content-Type", "text/html\r\nX: y", 65535)
	f.Fuzz(func(t *testing.T, topic, key, kind, contentType, tenant, name, value string, version int) {
		m := &outbox.Message{
			Topic: topic, Key: key, Type: kind, ContentType: contentType, Tenant: tenant, Version: version,
			Headers: []outbox.Header{{Name: name, Value: value}, {Name: "own", Value: value}, {Name: name, Value: ""}},
		}
		prepared, err := outbox.Prepare(t.Context(), outbox.EnqueueConfig{}, m)
		if err != nil {
			if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field == "" || field.Code == "" {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		p := prepared[0]
		for _, text := range []string{
			p.Topic, p.Key, p.Type, p.ContentType, p.Tenant, p.Headers[0].Name, p.Headers[0].Value,
		} {
			if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Fatalf("%q was let through", text)
			}
		}
		if len(p.Topic) > outbox.MaxTopic || len(p.Key) > outbox.MaxKey || len(p.Type) > outbox.MaxName ||
			len(p.Headers[0].Name) > outbox.MaxName || p.Topic == "" || p.Type == "" || p.Version < 1 || p.Version > 65535 {
			t.Fatalf("let through: %+v", p)
		}
		checkWireHeaders(t, p)
	})
}

func checkWireHeaders(t *testing.T, m *outbox.Message) {
	t.Helper()
	want := []outbox.Header{
		{Name: outbox.HeaderID, Value: m.ID.String()},
		{Name: outbox.HeaderType, Value: m.Type},
		{Name: outbox.HeaderVersion, Value: strconv.Itoa(m.Version)},
		{Name: outbox.HeaderContentType, Value: m.ContentType},
	}
	if m.Tenant != "" {
		want = append(want, outbox.Header{Name: outbox.HeaderTenant, Value: m.Tenant})
	}
	want = append(want, m.Headers...)
	got := outbox.WireHeaders(m)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("headers (-want +got):\n%s", diff)
	}
	for _, reserved := range want[:4] {
		same := func(h outbox.Header) bool { return strings.EqualFold(h.Name, reserved.Name) }
		if i := slices.IndexFunc(got, same); slices.ContainsFunc(got[i+1:], same) {
			t.Fatalf("header %s is there twice: %q", reserved.Name, got)
		}
	}
}
