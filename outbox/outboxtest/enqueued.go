package outboxtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Enqueued returns the messages that the store holds and that are due, those of a key in their order, and leaves them
// there. [ErrBusy] means that a relay is at work. 10 000 messages or more are an error.
func Enqueued(ctx context.Context, store outbox.Store) ([]*outbox.Message, error) {
	var messages []*outbox.Message
	err := withSession(ctx, store, func(s *session) error {
		claim, err := s.claim(ctx, false)
		if err != nil {
			return err
		}
		if len(claim.Messages) == maxMessages {
			err = fmt.Errorf("outboxtest: the store holds %d messages or more", maxMessages)
		}
		outcomes := make([]outbox.Outcome, len(claim.Messages))
		for i, c := range claim.Messages {
			messages = append(messages, clone(c.Message))
			outcomes[i].Claimed = c // zero verdict: released
		}
		if settled := s.settle(ctx, claim, outcomes); err == nil {
			err = settled
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what is enqueued: %w", err)
	}
	return messages, nil
}

// RequireEnqueued fails the test now unless the store holds exactly the messages of want, of those that are due, and
// says what is missing, too many or out of order. It leaves them in the store.
//
// A field of want that is zero, such as ID, is not compared; of Headers those given must be there, and Payload
// must be the same byte for byte. Messages of one Key must be stored in the order given; others in any order.
func RequireEnqueued(t testing.TB, store outbox.Store, want ...*outbox.Message) {
	t.Helper()
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := Enqueued(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	if diff := compare(want, got); diff != "" {
		t.Fatalf("enqueued messages (-want +got):\n%s", diff)
	}
}
