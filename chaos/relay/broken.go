package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

// The guards that a relay can be made without, to see that the suite notices.
const (
	brokenClaim   = "claim"   // messages are read and deleted without a claim and its token
	brokenConfirm = "confirm" // messages are settled before the broker has confirmed them
)

// unguardedStore reads what is pending, and deletes what was published, as a relay does that keeps no claims.
type unguardedStore struct {
	*markedStore
	db *gorm.DB
}

func (s *unguardedStore) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	claim := outbox.Claim{Token: r.Token, Session: r.Session, Worker: r.Worker}
	if r.Suspect {
		return claim, nil
	}
	found, err := s.Find(ctx, outbox.Filter{}, 0, r.Limit)
	for _, f := range found {
		claim.Messages = append(claim.Messages, &outbox.Claimed{Message: f.Message, Lane: f.Lane})
	}
	return claim, err
}

func (s *unguardedStore) Settle(ctx context.Context, _ outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	var delivered []uuid.UUID
	for _, o := range outcomes {
		if o.Verdict == outbox.Delivered {
			delivered = append(delivered, o.ID)
		}
	}
	if len(delivered) == 0 {
		return 0, nil
	}
	deleted := s.db.WithContext(ctx).Exec("DELETE FROM outbox_messages WHERE id IN ?", delivered)
	if deleted.Error != nil {
		return 0, fmt.Errorf("delete %d messages: %w", len(delivered), deleted.Error)
	}
	return len(outcomes), nil
}

// hastyPublisher says that all is well before it has sent anything.
type hastyPublisher struct{ *markedPublisher }

func (p *hastyPublisher) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	for i := range results {
		results[i] = outbox.Accepted
	}
	go p.markedPublisher.Publish(context.WithoutCancel(ctx), messages)
	return results
}
