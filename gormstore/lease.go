package gormstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// errEnded ends a transaction of a session that expired or was stopped.
var errEnded = errors.New("session ended")

// RenewLanes extends the lease of a session, see outbox.LaneRenewer. It uses [Config.Control] when that is given.
func (s *Store) RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error {
	var alive bool
	err := s.dialect.once(ctx, s.control(), func(q querier) (err error) {
		alive, err = s.dialect.renew(ctx, q, session, lease)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("renew lanes: %w", err)
	case !alive:
		s.forget(session)
		return outbox.ErrSessionEnded
	}
	return nil
}

// ReleaseLanes ends a session, see outbox.LaneReleaser. The stamp comes first, so that no claim of the session can
// begin any more when its lanes are freed.
func (s *Store) ReleaseLanes(ctx context.Context, session uuid.UUID) error {
	err := s.dialect.transact(ctx, s.pool, func(q querier) error {
		if err := s.dialect.stop(ctx, q, session); err != nil {
			return fmt.Errorf("stamp session: %w", err)
		}
		return s.recover(ctx, q, []uuid.UUID{session})
	})
	if err != nil {
		return fmt.Errorf("release lanes: %w", err)
	}
	s.forget(session)
	s.spread(ctx, newsOfFreed) // its peers have lanes to take
	return nil
}
