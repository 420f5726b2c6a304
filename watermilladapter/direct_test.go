package watermilladapter_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

// answer is an outbox publisher that remembers what it got and answers with what it was given.
type answer struct {
	results []outbox.Result
	calls   [][]*outbox.Message
}

func (a *answer) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	a.calls = append(a.calls, messages)
	return a.results
}

func quiet() watermilladapter.DirectConfig {
	return watermilladapter.DirectConfig{Logger: slog.New(slog.DiscardHandler)}
}

func TestDirect(t *testing.T) {
	t.Parallel()

	t.Run("sends_all_messages_of_a_call_together_and_complete", func(t *testing.T) {
		t.Parallel()
		p := &answer{results: []outbox.Result{outbox.Accepted, outbox.Accepted}}
		ctx := outbox.WithTenant(t.Context(), "acme")
		m := newMessage(ctx, "1", message.Metadata{"name": "OrderPlaced", "partition_key": "k"})
		if err := watermilladapter.Direct(p, quiet()).Publish("orders", m, newMessage(t.Context(), "2", nil)); err != nil {
			t.Fatal(err)
		}
		if len(p.calls) != 1 || len(p.calls[0]) != 2 {
			t.Fatalf("got calls %v, want one of two messages", p.calls)
		}
		first, second := p.calls[0][0], p.calls[0][1]
		if first.ID.String() != m.UUID || first.Version != 1 || first.Key != "k" ||
			first.Tenant != "acme" || second.Tenant != "" {
			t.Errorf("got %+v and %+v", first, second)
		}
	})

	t.Run("joins_the_errors_of_what_was_not_taken", func(t *testing.T) {
		t.Parallel()
		other := errors.New("other")
		p := &answer{results: []outbox.Result{
			outbox.Failed(outbox.Permanent(errBroken)), outbox.Accepted, {}, outbox.Failed(other),
		}}
		ms := make([]*message.Message, 4)
		for i := range ms {
			ms[i] = newMessage(t.Context(), "", nil)
		}
		err := watermilladapter.Direct(p, quiet()).Publish("orders", ms...)
		if !errors.Is(err, errBroken) || !errors.Is(err, other) {
			t.Fatalf("error %v, want both", err)
		}
		if strings.Contains(err.Error(), ms[1].UUID) || !strings.Contains(err.Error(), ms[2].UUID) {
			t.Errorf("error %v, want it to name the message without a word and not the accepted one", err)
		}
	})

	t.Run("says_why_nothing_was_sent", func(t *testing.T) {
		t.Parallel()
		left := errors.New("the caller has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(left)
		p := &answer{results: []outbox.Result{{}}}
		if err := watermilladapter.Direct(p, quiet()).Publish("orders", newMessage(ctx, "", nil)); !errors.Is(err, left) {
			t.Errorf("error %v, want one with the context's cause", err)
		}
	})

	t.Run("takes_a_result_too_few_for_an_error", func(t *testing.T) {
		t.Parallel()
		p := &answer{}
		if err := watermilladapter.Direct(p, quiet()).Publish("orders", newMessage(t.Context(), "", nil)); err == nil {
			t.Error("got nil, want an error")
		}
	})

	t.Run("sends_nothing_when_one_message_is_refused", func(t *testing.T) {
		t.Parallel()
		p := &answer{}
		config := quiet()
		config.MaxPayload = 3
		direct := watermilladapter.Direct(p, config)
		err := direct.Publish("orders", newMessage(t.Context(), "1", nil), newMessage(t.Context(), "long", nil))
		if field, ok := errors.AsType[*outbox.FieldError](err); !ok || field.Field != "Payload" {
			t.Errorf("error %v, want a FieldError of Payload", err)
		}
		if len(p.calls) != 0 {
			t.Error("something was sent")
		}
	})

	t.Run("says_once_that_it_needs_no_outbox", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		config := watermilladapter.DirectConfig{Logger: slog.New(slog.NewTextHandler(&out, nil))}
		p := watermilladapter.Direct(&answer{results: []outbox.Result{outbox.Accepted}}, config)
		for range 2 {
			if err := p.Publish("orders", newMessage(t.Context(), "", nil)); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(out.String(), "without an outbox"); got != 1 {
			t.Errorf("said %d times, want once:\n%s", got, out.String())
		}
	})
}
