package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// markedStore is the store with a point before and after each call of the relay.
type markedStore struct {
	*gormstore.Store
	points *points
	lanes  int // held after the last round; rounds come one after another
}

func storeOf(o options, s *gormstore.Store, db *gorm.DB, p *points) outbox.Store {
	marked := &markedStore{Store: s, points: p}
	if o.broken == brokenClaim {
		return &unguardedStore{marked, db}
	}
	return marked
}

func (s *markedStore) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	s.points.pass(atClaim)
	claim, err := s.Store.Claim(ctx, r)
	if err == nil && len(claim.Messages) > 0 {
		s.points.pass(atClaimed)
	}
	return claim, err
}

func (s *markedStore) Settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	s.points.pass(atSettle)
	n, err := s.Store.Settle(ctx, c, outcomes)
	if err == nil {
		s.points.pass(atSettled)
	}
	return n, err
}

// AcquireLanes is how lanes are renewed as a rule; RenewLanes is for a round that hangs.
func (s *markedStore) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	s.points.pass(atRenew)
	lanes, err := s.Store.AcquireLanes(ctx, r)
	if err == nil {
		if len(lanes.Held) > s.lanes {
			s.points.pass(atTakeover)
		}
		s.lanes = len(lanes.Held)
	}
	return lanes, err
}

func (s *markedStore) RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error {
	s.points.pass(atRenew)
	return s.Store.RenewLanes(ctx, session, lease)
}
