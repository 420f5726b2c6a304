package watermilladapter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

type txKey struct{}

// inTransaction returns a context that a recorder accepts.
func inTransaction(t *testing.T) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), txKey{}, true)
}

// recorder is an Enqueuer that keeps each call's messages and, like a store, takes all of them or none.
type recorder struct {
	calls [][]*outbox.Message
}

func (r *recorder) Enqueue(ctx context.Context, messages ...*outbox.Message) error {
	if ctx.Value(txKey{}) == nil {
		return outbox.ErrNoTransaction
	}
	prepared, err := outbox.Prepare(ctx, outbox.EnqueueConfig{}, messages...)
	if err != nil {
		return err
	}
	r.calls = append(r.calls, prepared)
	return nil
}

func (r *recorder) only(t *testing.T) *outbox.Message {
	t.Helper()
	if len(r.calls) != 1 || len(r.calls[0]) != 1 {
		t.Fatalf("got calls %v, want one call with one message", r.calls)
	}
	return r.calls[0][0]
}

func newMessage(ctx context.Context, payload string, metadata message.Metadata) *message.Message {
	m := message.NewMessageWithContext(ctx, watermill.NewUUID(), message.Payload(payload))
	for name, value := range metadata {
		m.Metadata.Set(name, value)
	}
	return m
}

func TestPublisher(t *testing.T) {
	t.Parallel()

	t.Run("stores_a_message_with_its_uuid_payload_and_topic", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		m := newMessage(inTransaction(t), "body", message.Metadata{"name": "OrderPlaced"})
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		want := &outbox.Message{
			ID: uuid.MustParse(m.UUID), Topic: "orders", Type: "OrderPlaced", Version: 1, Payload: []byte("body"),
			ContentType: "application/octet-stream", Headers: []outbox.Header{{Name: "name", Value: "OrderPlaced"}},
		}
		if diff := cmp.Diff(want, to.only(t)); diff != "" {
			t.Errorf("stored message (-want +got):\n%s", diff)
		}
	})

	t.Run("maps_the_configured_fields", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		p := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{
			KeyMetadata: "customer",
			Type:        func(topic string, _ *message.Message) string { return topic + ".changed" },
			ContentType: "application/json",
			Transport:   "rabbit",
		})
		if err := p.Publish("orders", newMessage(inTransaction(t), "{}", message.Metadata{"customer": "c-1"})); err != nil {
			t.Fatal(err)
		}
		got := to.only(t)
		want := []string{"c-1", "orders.changed", "application/json", "rabbit"}
		if diff := cmp.Diff(want, []string{got.Key, got.Type, got.ContentType, got.Transport}); diff != "" {
			t.Errorf("key, type, content type, transport (-want +got):\n%s", diff)
		}
	})

	t.Run("takes_the_topic_as_type_when_nothing_names_one", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		m := newMessage(inTransaction(t), "", nil)
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		if got := to.only(t).Type; got != "orders" {
			t.Errorf("type %q, want orders", got)
		}
	})

	t.Run("passes_unknown_metadata_on_as_headers_in_sorted_order", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		m := newMessage(inTransaction(t), "", message.Metadata{
			"z": "26", "correlation_id": "c", "_watermill_delayed_for": "1s", "a": "1", "partition_key": "k",
		})
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		want := []outbox.Header{
			{Name: "_watermill_delayed_for", Value: "1s"},
			{Name: "a", Value: "1"},
			{Name: "correlation_id", Value: "c"},
			{Name: "partition_key", Value: "k"},
			{Name: "z", Value: "26"},
		}
		if diff := cmp.Diff(want, to.only(t).Headers); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})

	t.Run("maps_reserved_names_of_a_forwarded_message_to_their_fields", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		m := newMessage(inTransaction(t), "", message.Metadata{
			"type": "OrderPlaced", "version": "3", "tenant": "acme", "Content-Type": "text/html", "content-type": "text/plain",
			"created_at": "2001-01-01T00:00:00Z", "_watermill_message_uuid": "another", "Version": "x",
		})
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		want := &outbox.Message{
			ID: uuid.MustParse(m.UUID), Topic: "orders", Type: "OrderPlaced", Version: 3, Tenant: "acme", Payload: []byte{},
			ContentType: "text/plain",
		}
		if diff := cmp.Diff(want, to.only(t)); diff != "" {
			t.Errorf("stored message (-want +got):\n%s", diff)
		}
	})

	t.Run("never_refuses_a_foreign_version", func(t *testing.T) {
		t.Parallel()
		for _, version := range []string{"", "0", "-1", "65536", "v2", "1.0"} {
			to := &recorder{}
			m := newMessage(inTransaction(t), "", message.Metadata{"version": version})
			if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
				t.Fatal(err)
			}
			if got := to.only(t).Version; got != 1 {
				t.Errorf("version %q became %d, want 1", version, got)
			}
		}
	})

	t.Run("keeps_a_nil_payload_nil", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		m := message.NewMessageWithContext(inTransaction(t), watermill.NewUUID(), nil)
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m); err != nil {
			t.Fatal(err)
		}
		if got := to.only(t).Payload; got != nil {
			t.Errorf("payload %q, want nil", got)
		}
	})

	t.Run("names_the_field_of_a_uuid_that_is_none", func(t *testing.T) {
		t.Parallel()
		id := uuid.NewString()
		for text, code := range map[string]outbox.Code{
			"": outbox.CodeMissing, uuid.Nil.String(): outbox.CodeMissing, "order-1": "malformed",
			"urn:uuid:" + id: "malformed", "{" + id + "}": "malformed", strings.ReplaceAll(id, "-", ""): "malformed",
		} {
			to := &recorder{}
			m := message.NewMessageWithContext(inTransaction(t), text, nil)
			err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders", m)
			field, ok := errors.AsType[*outbox.FieldError](err)
			if !ok || field.Field != "UUID" || field.Code != code {
				t.Errorf("UUID %q: error %v, want a FieldError of UUID with code %s", text, err, code)
			}
			if len(to.calls) != 0 {
				t.Errorf("UUID %q: something was enqueued", text)
			}
		}
	})

	t.Run("refuses_a_nil_message_by_name", func(t *testing.T) {
		t.Parallel()
		err := watermilladapter.NewPublisher(&recorder{}, watermilladapter.PublisherConfig{}).Publish("orders", nil)
		if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != "Message" {
			t.Errorf("error %v, want a FieldError of Message", err)
		}
	})

	t.Run("refuses_a_message_outside_a_transaction", func(t *testing.T) {
		t.Parallel()
		p := watermilladapter.NewPublisher(&recorder{}, watermilladapter.PublisherConfig{})
		if err := p.Publish("orders", newMessage(t.Context(), "", nil)); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("error %v, want ErrNoTransaction", err)
		}
	})

	t.Run("accepts_a_call_without_messages", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		if err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders"); err != nil {
			t.Fatal(err)
		}
		if len(to.calls) != 0 {
			t.Errorf("got %d calls, want none", len(to.calls))
		}
	})
}

func TestPublisherBatches(t *testing.T) {
	t.Parallel()

	t.Run("enqueues_messages_of_one_context_together", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		ctx := inTransaction(t)
		err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders",
			newMessage(ctx, "1", nil), newMessage(ctx, "2", nil), newMessage(ctx, "3", nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"1", "2", "3"}}, payloads(to)); diff != "" {
			t.Errorf("payloads by call (-want +got):\n%s", diff)
		}
	})

	t.Run("gives_each_transaction_its_own_messages_in_order", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		one, two := inTransaction(t), outbox.WithTenant(inTransaction(t), "acme")
		err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders",
			newMessage(one, "1", nil), newMessage(two, "2", nil), newMessage(two, "3", nil), newMessage(one, "4", nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"1"}, {"2", "3"}, {"4"}}, payloads(to)); diff != "" {
			t.Errorf("payloads by call (-want +got):\n%s", diff)
		}
		if got := to.calls[1][0].Tenant; got != "acme" {
			t.Errorf("tenant %q, want that of the message's own context", got)
		}
	})

	t.Run("takes_contexts_that_cannot_be_compared_as_different", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		ctx := odd{inTransaction(t), []int{1}}
		err := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}).Publish("orders",
			newMessage(ctx, "1", nil), newMessage(ctx, "2", nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"1"}, {"2"}}, payloads(to)); diff != "" {
			t.Errorf("payloads by call (-want +got):\n%s", diff)
		}
	})

	t.Run("stores_nothing_when_one_message_is_refused", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		one, two := inTransaction(t), outbox.WithTenant(inTransaction(t), "acme")
		bad := newMessage(two, "2", nil)
		bad.UUID = "no"
		p := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{})
		err := p.Publish("orders", newMessage(one, "1", nil), bad)
		if _, ok := errors.AsType[*outbox.FieldError](err); !ok {
			t.Errorf("error %v, want a FieldError", err)
		}
		if len(to.calls) != 0 {
			t.Errorf("got %d calls, want none", len(to.calls))
		}
	})
}

// odd is a context of a type that panics when compared.
type odd struct {
	context.Context
	values []int
}

func payloads(r *recorder) [][]string {
	var all [][]string
	for _, call := range r.calls {
		var one []string
		for _, m := range call {
			one = append(one, string(m.Payload))
		}
		all = append(all, one)
	}
	return all
}

type orderPlaced struct {
	ID string `json:"id"`
}

func TestEventBus(t *testing.T) {
	t.Parallel()
	to := &recorder{}
	var sent string
	bus, err := cqrs.NewEventBusWithConfig(
		watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{ContentType: "application/json"}),
		cqrs.EventBusConfig{
			GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return "orders", nil },
			Marshaler:            cqrs.JSONMarshaler{GenerateName: func(any) string { return "OrderPlaced" }},
			OnPublish: func(p cqrs.OnEventSendParams) error {
				p.Message.Metadata.Set("partition_key", p.Event.(orderPlaced).ID)
				sent = p.Message.UUID
				return nil
			},
		})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("stores_an_event_in_the_callers_transaction", func(t *testing.T) {
		if err := bus.Publish(inTransaction(t), orderPlaced{ID: "o-1"}); err != nil {
			t.Fatal(err)
		}
		want := &outbox.Message{
			ID: uuid.MustParse(sent), Topic: "orders", Key: "o-1", Type: "OrderPlaced", Version: 1,
			Payload: []byte(`{"id":"o-1"}`), ContentType: "application/json",
			Headers: []outbox.Header{{Name: "name", Value: "OrderPlaced"}, {Name: "partition_key", Value: "o-1"}},
		}
		if diff := cmp.Diff(want, to.only(t)); diff != "" {
			t.Errorf("stored message (-want +got):\n%s", diff)
		}
	})

	t.Run("refuses_an_event_outside_a_transaction", func(t *testing.T) {
		if err := bus.Publish(t.Context(), orderPlaced{ID: "o-2"}); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("error %v, want ErrNoTransaction", err)
		}
	})
}
