package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	t.Run("records_who_did_what_to_which_message_and_why", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		m := park(t, s)
		act := outbox.Act{By: "me", Reason: "because"}
		if _, err := s.Skip(t.Context(), act, m.ID, uuid.New()); err != nil {
			t.Fatal(err)
		}
		log := s.Audit()
		if len(log) != 1 || log[0].Act != act || log[0].Verb != "skip" || log[0].Message != m.ID || log[0].At.IsZero() {
			t.Errorf("got %+v, want one entry of the message that was skipped", log)
		}
	})
}

// park stores a message and sets it aside, holding its key.
func park(t *testing.T, s *memstore.Store) *outbox.Message {
	t.Helper()
	m := &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: "a"}
	err := s.InTransaction(t.Context(), func(ctx context.Context) error { return s.Enqueue(ctx, m) })
	if err != nil {
		t.Fatal(err)
	}
	session := uuid.New()
	lanes, err := s.AcquireLanes(t.Context(), outbox.LaneRequest{Session: session, Relay: "test", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), outbox.ClaimRequest{
		Token: uuid.New(), Session: session, Lanes: lanes.Held, Limit: 1, Bytes: 1,
	})
	if err != nil || len(c.Messages) != 1 {
		t.Fatalf("claimed %d messages, %v; want one", len(c.Messages), err)
	}
	parked := []outbox.Outcome{{Claimed: c.Messages[0], Verdict: outbox.ParkKey}}
	if _, err := s.Settle(t.Context(), c, parked); err != nil {
		t.Fatal(err)
	}
	return m
}
