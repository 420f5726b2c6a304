package watermilladapter_test

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

func newRegistry(t *testing.T) *outbox.Registry {
	t.Helper()
	r, err := outbox.NewRegistry(outbox.Event[counted]{
		Type: "Counted", Version: 3, Topic: "counts", Key: func(c counted) string { return c.Customer },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBus(t *testing.T) {
	t.Parallel()
	want := &outbox.Message{
		Topic: "counts", Key: "c-1", Type: "Counted", Version: 3, ContentType: "application/json",
		Payload: []byte(`{"customer":"c-1","number":1}`),
		Headers: []outbox.Header{{Name: "name", Value: "Counted"}, {Name: "partition_key", Value: "c-1"}},
	}

	t.Run("publishes_events_and_commands_as_the_registry_says", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		publisher := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{})
		events, err := cqrs.NewEventBusWithConfig(publisher, watermilladapter.EventBusConfig(newRegistry(t)))
		if err != nil {
			t.Fatal(err)
		}
		commands, err := cqrs.NewCommandBusWithConfig(publisher, watermilladapter.CommandBusConfig(newRegistry(t)))
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(events.Publish(inTransaction(t), counted{"c-1", 1}),
			commands.Send(inTransaction(t), &counted{"c-1", 1}))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range to.calls {
			call[0].ID = uuid.Nil
			if diff := cmp.Diff([]*outbox.Message{want}, call); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		}
		if len(to.calls) != 2 {
			t.Errorf("%d calls, want 2", len(to.calls))
		}
	})

	t.Run("refuses_what_is_not_registered", func(t *testing.T) {
		t.Parallel()
		to := &recorder{}
		publisher := watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{})
		bus, err := cqrs.NewEventBusWithConfig(publisher, watermilladapter.EventBusConfig(newRegistry(t)))
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Publish(inTransaction(t), OrderPlaced{}); !errors.Is(err, outbox.ErrUnregistered) {
			t.Errorf("got %v, want ErrUnregistered", err)
		}
		if len(to.calls) != 0 {
			t.Errorf("stored %v", to.calls)
		}
	})

	t.Run("lets_ids_of_the_context_win_over_those_of_the_marshaler", func(t *testing.T) {
		t.Parallel()
		given := uuid.New()
		to := &recorder{}
		bus, err := cqrs.NewEventBusWithConfig(watermilladapter.NewPublisher(to, watermilladapter.PublisherConfig{}),
			cqrs.EventBusConfig{
				GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return "counts", nil },
				Marshaler:            cqrs.JSONMarshaler{}, // draws a new UUID for each call
			})
		if err != nil {
			t.Fatal(err)
		}
		ctx := outbox.WithIDs(inTransaction(t), func() uuid.UUID { return given })
		if err := bus.Publish(ctx, counted{"c-1", 1}); err != nil {
			t.Fatal(err)
		}
		if got := to.only(t).ID; got != given {
			t.Errorf("id %v, want that of the context, %v", got, given)
		}
	})

	t.Run("finds_the_handler_of_what_it_published", func(t *testing.T) {
		t.Parallel()
		m := watermilladapter.NewMarshaler(newRegistry(t))
		sent, err := m.Marshal(counted{"c-1", 1})
		if err != nil {
			t.Fatal(err)
		}
		var got counted
		if err := m.Unmarshal(sent, &got); err != nil || got != (counted{"c-1", 1}) {
			t.Errorf("read %+v, %v", got, err)
		}
		if m.Name(&got) != "Counted" || m.NameFromMessage(sent) != "Counted" || m.Name(OrderPlaced{}) != "" {
			t.Errorf("names %q and %q", m.Name(&got), m.NameFromMessage(sent))
		}
		if m.NameFromMessage(message.NewMessage("", nil)) != "" {
			t.Error("a message without a name has one")
		}
	})
}
