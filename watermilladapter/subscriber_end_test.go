package watermilladapter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/watermilladapter"
)

func TestSubscriberEnd(t *testing.T) {
	t.Parallel()

	wantClosed := func(t *testing.T, messages <-chan *message.Message) {
		t.Helper()
		if m := within(t, "the messages end", messages); m != nil {
			t.Errorf("got %s", m.UUID)
		}
	}

	t.Run("ends_a_subscription_with_its_context_and_leaves_the_others", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		ending, staying := subscribe(t, ctx, s, "orders"), subscribe(t, t.Context(), s, "orders")
		cancel()
		wantClosed(t, ending)
		results := publishing(t.Context(), s, event("a", "1"))
		within(t, "a message", staying).Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("withdraws_a_message_that_no_handler_has_taken", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, messages)
		switch got := verdicts(within(t, "Publish returns", results))[0]; got {
		case "retry_after", "unavailable": // taken back, or never offered
		default:
			t.Errorf("got %s", got)
		}
	})

	t.Run("still_hears_a_handler_that_is_at_work", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		m := within(t, "a message", messages)
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, messages)
		m.Ack()
		wantVerdicts(t, results, "accepted")
	})

	t.Run("gives_up_a_handler_soon_after_the_relay_has_to_stop", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		ctx, stop := context.WithCancel(t.Context())
		results := publishing(ctx, s, event("a", "1"), event("a", "2"))
		within(t, "a message", messages)
		stop()
		wantVerdicts(t, results, "unknown", "not handed over")
	})

	t.Run("takes_back_an_offer_when_the_relay_has_to_stop", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		subscribe(t, t.Context(), s, "orders")
		ctx, stop := context.WithTimeout(t.Context(), moment)
		defer stop()
		wantVerdicts(t, publishing(ctx, s, event("a", "1")), "unavailable")
	})

	t.Run("refuses_everything_once_it_is_closed", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Subscribe(t.Context(), "orders"); err == nil {
			t.Error("a subscription began")
		}
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1")), "unavailable")
	})
}
