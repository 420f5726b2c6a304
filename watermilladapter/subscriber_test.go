package watermilladapter_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/watermilladapter"
)

func event(key, payload string) *outbox.Message {
	return &outbox.Message{
		ID: uuid.New(), Topic: "orders", Type: "OrderPlaced", Version: 1, Key: key, Payload: []byte(payload),
		ContentType: "text/plain", Headers: []outbox.Header{{Name: "x", Value: "1"}},
	}
}

func subscribe(
	t *testing.T, ctx context.Context, s *watermilladapter.Subscriber, topic string,
) <-chan *message.Message {
	t.Helper()
	messages, err := s.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// publishing calls Publish beside the test.
func publishing(
	ctx context.Context, s *watermilladapter.Subscriber, messages ...*outbox.Message,
) <-chan []outbox.Result {
	results := make(chan []outbox.Result, 1)
	go func() { results <- s.Publish(ctx, messages) }()
	return results
}

// verdicts are results as a reader wants to see them.
func verdicts(results []outbox.Result) []string {
	var ws []string
	for _, r := range results {
		switch {
		case r.Accepted():
			ws = append(ws, "accepted")
		case r.Err() == nil:
			ws = append(ws, "not handed over")
		default:
			ws = append(ws, string(outbox.ClassOf(r.Err())))
		}
	}
	return ws
}

func wantVerdicts(t *testing.T, results <-chan []outbox.Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, verdicts(within(t, "Publish returns", results))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestSubscriber(t *testing.T) {
	t.Parallel()

	t.Run("accepts_what_is_acknowledged_and_gives_all_of_it", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{KeyMetadata: "customer"})
		messages := subscribe(t, t.Context(), s, "orders")
		m := event("c-1", "payload")
		results := publishing(t.Context(), s, m)
		got := within(t, "a message", messages)
		want := message.Metadata{
			"name": "OrderPlaced", "type": "OrderPlaced", "version": "1", "content-type": "text/plain", "x": "1",
			"customer": "c-1",
		}
		if diff := cmp.Diff(want, got.Metadata); diff != "" || got.UUID != m.ID.String() || string(got.Payload) != "payload" {
			t.Errorf("got %s %q, metadata (-want +got):\n%s", got.UUID, got.Payload, diff)
		}
		got.Payload[0] = 'P' // it is the handler's own
		got.Ack()
		wantVerdicts(t, results, "accepted")
		if string(m.Payload) != "payload" {
			t.Error("the payload is shared")
		}
		within(t, "the message's context ends", got.Context().Done())
	})

	t.Run("takes_a_nack_for_a_refusal_and_stops_the_key", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"), event("a", "2"), event("b", "1"))
		for range 2 {
			if m := within(t, "a message", messages); m.Metadata["partition_key"] == "a" {
				m.Nack()
			} else {
				m.Ack()
			}
		}
		wantVerdicts(t, results, "refused", "not handed over", "accepted")
	})

	t.Run("waits_for_one_message_of_a_key_before_it_offers_the_next", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		messages := subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"), event("a", "2"))
		first := within(t, "the first message", messages)
		select {
		case m := <-messages:
			t.Errorf("got %q before the first was acknowledged", m.Payload)
		case <-time.After(moment):
		}
		first.Ack()
		within(t, "the second message", messages).Ack()
		wantVerdicts(t, results, "accepted", "accepted")
	})

	t.Run("delivers_to_each_subscription_of_the_topic", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		one, two := subscribe(t, t.Context(), s, "orders"), subscribe(t, t.Context(), s, "orders")
		results := publishing(t.Context(), s, event("a", "1"))
		first := within(t, "the first copy", one)
		first.Ack()
		second := within(t, "the second copy", two)
		if first == second {
			t.Error("the subscriptions share a message")
		}
		second.Nack()
		wantVerdicts(t, results, "refused")
	})

	t.Run("keeps_messages_of_a_topic_that_nobody_reads", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{})
		subscribe(t, t.Context(), s, "other")
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1"), event("a", "2")), "retry_after", "not handed over")
	})

	t.Run("does_not_wait_for_ever_for_a_handler_to_take_a_message", func(t *testing.T) {
		t.Parallel()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: moment})
		subscribe(t, t.Context(), s, "orders")
		wantVerdicts(t, publishing(t.Context(), s, event("a", "1")), "retry_after")
	})
}

func TestSubscriberLateAnswer(t *testing.T) {
	t.Parallel()

	// late returns a subscriber and a message that its handler has not answered in time.
	late := func(t *testing.T) (*watermilladapter.Subscriber, *outbox.Message, <-chan *message.Message, *message.Message) {
		t.Helper()
		s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: moment, Concurrency: 1})
		messages := subscribe(t, t.Context(), s, "orders")
		m := event("a", "1")
		results := publishing(t.Context(), s, m)
		taken := within(t, "a message", messages)
		wantVerdicts(t, results, "unknown")
		within(t, "the message's context ends", taken.Context().Done())
		return s, m, messages, taken
	}

	t.Run("counts_when_the_message_comes_again_and_makes_no_second_copy", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, m, messages, taken := late(t)
			wantVerdicts(t, publishing(t.Context(), s, m), "unknown")
			taken.Ack()
			wantVerdicts(t, publishing(t.Context(), s, m), "accepted")
			select {
			case <-messages:
				t.Error("got a second copy")
			default:
			}
		})
	})

	t.Run("of_no_makes_a_new_copy", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, m, messages, taken := late(t)
			taken.Nack()
			wantVerdicts(t, publishing(t.Context(), s, m), "refused")
			results := publishing(t.Context(), s, m)
			within(t, "a new copy", messages).Ack()
			wantVerdicts(t, results, "accepted")
		})
	})

	t.Run("is_not_waited_for_once_its_subscription_has_ended", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := watermilladapter.NewSubscriber(watermilladapter.SubscriberConfig{Timeout: time.Minute, Concurrency: 1})
			ctx, end := context.WithCancel(t.Context())
			messages := subscribe(t, ctx, s, "orders")
			results := publishing(t.Context(), s, event("a", "1"))
			within(t, "a message", messages) // and its reader goes without an answer
			end()
			wantVerdicts(t, results, "unknown")
			messages = subscribe(t, t.Context(), s, "orders")
			results = publishing(t.Context(), s, event("b", "1"))
			within(t, "another message", messages).Ack()
			wantVerdicts(t, results, "accepted")
		})
	})

	t.Run("holds_back_others_when_too_many_are_missing", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s, _, messages, taken := late(t)
			held := within(t, "Publish returns", publishing(t.Context(), s, event("b", "1")))[0].Err()
			if outbox.ClassOf(held) != outbox.ClassRetryAfter || !strings.Contains(held.Error(), "still with their handlers") {
				t.Errorf("got %v", held)
			}
			taken.Ack()
			results := publishing(t.Context(), s, event("b", "1"))
			within(t, "a message", messages).Ack()
			wantVerdicts(t, results, "accepted")
		})
	})
}
