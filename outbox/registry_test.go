package outbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
)

type placed struct {
	ID       string `json:"id"`
	Customer string `json:"-"`
}

type renamed placed

var definePlaced = outbox.Event[placed]{
	Type: "OrderPlaced", Version: 2, Topic: "orders", Key: func(e placed) string { return e.Customer },
}

func TestRegistry(t *testing.T) {
	t.Parallel()

	t.Run("makes_a_message_of_a_value_and_of_a_pointer", func(t *testing.T) {
		t.Parallel()
		r, err := outbox.NewRegistry(definePlaced)
		if err != nil {
			t.Fatal(err)
		}
		want := &outbox.Message{
			Topic: "orders", Key: "c-1", Type: "OrderPlaced", Version: 2, ContentType: "application/json",
			Payload: []byte(`{"id":"1"}`),
		}
		event := placed{ID: "1", Customer: "c-1"}
		for _, e := range []any{event, &event} {
			if got, err := r.Message(e); err != nil || cmp.Diff(want, got) != "" {
				t.Errorf("%T: %v (-want +got):\n%s", e, err, cmp.Diff(want, got))
			}
		}
	})

	t.Run("uses_another_encoding_and_never_makes_a_tombstone", func(t *testing.T) {
		t.Parallel()
		r, err := outbox.NewRegistry(outbox.Event[*placed]{
			Type: "OrderPlaced", Topic: "orders", ContentType: "application/x-nothing",
			Encode: func(*placed) ([]byte, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Message(&placed{})
		if err != nil || m.Payload == nil || m.ContentType != "application/x-nothing" || m.Version != 1 {
			t.Errorf("got %+v, %v", m, err)
		}
	})

	t.Run("refuses_what_is_not_defined", func(t *testing.T) {
		t.Parallel()
		r, err := outbox.NewRegistry(definePlaced)
		if err != nil {
			t.Fatal(err)
		}
		var none *outbox.Registry
		for name, got := range map[string]error{
			"another type": second(r.Message(renamed{})), "pointer": second(r.Message(&renamed{})),
			"no registry": second(none.Message(placed{})), "description": second(r.Describe("text")),
		} {
			if !errors.Is(got, outbox.ErrUnregistered) {
				t.Errorf("%s: got %v, want ErrUnregistered", name, got)
			}
		}
		for _, e := range []any{nil, (*placed)(nil)} {
			_, err := r.Message(e)
			if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Code != outbox.CodeMissing {
				t.Errorf("%T: got %v, want a FieldError", e, err)
			}
		}
	})

	t.Run("passes_on_the_error_of_an_encoder", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		r, err := outbox.NewRegistry(outbox.Event[placed]{
			Type: "t", Topic: "orders", Encode: func(placed) ([]byte, error) { return nil, broken },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Message(placed{}); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("refuses_definitions_that_cannot_be", func(t *testing.T) {
		t.Parallel()
		for name, events := range map[string][]outbox.EventDefinition{
			"no type":          {outbox.Event[placed]{Topic: "orders"}},
			"no topic":         {outbox.Event[placed]{Type: "t"}},
			"Go type twice":    {definePlaced, outbox.Event[placed]{Type: "t", Topic: "orders"}},
			"wire name twice":  {definePlaced, outbox.Event[renamed]{Type: "OrderPlaced", Version: 2, Topic: "orders"}},
			"version too high": {outbox.Event[placed]{Type: "t", Topic: "orders", Version: 65536}},
		} {
			_, err := outbox.NewRegistry(events...)
			if _, ok := errors.AsType[*outbox.FieldError](err); !ok {
				t.Errorf("%s: got %v, want a FieldError", name, err)
			}
		}
	})

	t.Run("tells_versions_of_one_type_apart", func(t *testing.T) {
		t.Parallel()
		r, err := outbox.NewRegistry(definePlaced, outbox.Event[renamed]{Type: "OrderPlaced", Version: 3, Topic: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := r.Describe(renamed{}); err != nil || m.Version != 3 {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }
