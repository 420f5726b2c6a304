package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// ErrBusy is returned when the lanes of the store belong to another session: a relay that runs, or one that was killed
// and whose lease has not ended. Stop the relay before the test looks at the store.
var ErrBusy = errors.New("outboxtest: another relay holds lanes of this store: stop it first")

// The bounds of one claim. What does not fit would hide behind it.
const (
	maxMessages = 10_000
	maxBytes    = 256 << 20
)

// The lease of a session that can be ended at once, and of one that has to run out before the next can start.
const (
	longLease  = time.Minute
	shortLease = 2 * time.Second
	cleanUp    = 10 * time.Second
)

// session holds all lanes of a store.
type session struct {
	store outbox.Store
	id    uuid.UUID
	lease time.Duration
	lanes []outbox.Lease
}

// withSession runs fn with a session that holds all lanes, and ends it.
func withSession(ctx context.Context, store outbox.Store, fn func(s *session) error) (err error) {
	s := &session{store: store, id: uuid.New(), lease: longLease}
	releaser, canRelease := store.(outbox.LaneReleaser)
	if !canRelease {
		s.lease = shortLease
	}
	defer func() {
		if canRelease {
			err = errors.Join(err, s.end(ctx, releaser))
		}
	}()
	if err := s.takeAll(ctx); err != nil {
		return err
	}
	return fn(s)
}

func (s *session) end(ctx context.Context, releaser outbox.LaneReleaser) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if err := releaser.ReleaseLanes(ctx, s.id); err != nil {
		return fmt.Errorf("release lanes: %w", err)
	}
	return nil
}

// takeAll waits until no other session is left, for as long as one that has ended may take to expire.
func (s *session) takeAll(ctx context.Context) error {
	end := time.Now().Add(2 * shortLease)
	for {
		others, err := s.heartbeat(ctx)
		switch {
		case err != nil:
			return err
		case others == 0:
			return nil
		case time.Now().Add(others).After(end):
			return ErrBusy
		}
		if err := wait(ctx, min(others+time.Millisecond, s.lease/3)); err != nil {
			return err
		}
	}
}

// heartbeat keeps the session alive and returns how long the soonest other one lives, or 0 if there is none.
func (s *session) heartbeat(ctx context.Context) (time.Duration, error) {
	lanes, err := s.store.AcquireLanes(ctx, outbox.LaneRequest{Session: s.id, Relay: "outboxtest", Lease: s.lease})
	if err != nil {
		return 0, fmt.Errorf("acquire lanes: %w", err)
	}
	s.lanes = lanes.Held
	return lanes.Expiry, nil
}

// claim claims all that is due, or one suspect message.
func (s *session) claim(ctx context.Context, suspect bool) (outbox.Claim, error) {
	others, err := s.heartbeat(ctx)
	if err != nil {
		return outbox.Claim{}, err
	}
	if others != 0 {
		return outbox.Claim{}, ErrBusy
	}
	claim, err := s.store.Claim(ctx, outbox.ClaimRequest{
		Token: uuid.New(), Session: s.id, Lanes: s.lanes, Limit: maxMessages, Bytes: maxBytes, Suspect: suspect,
	})
	if err != nil {
		return outbox.Claim{}, fmt.Errorf("claim: %w", err)
	}
	return claim, nil
}

// settle settles a claim even if ctx has ended, so that what was handed over is not handed over again.
func (s *session) settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) error {
	if len(c.Messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	if _, err := s.store.Settle(ctx, c, outcomes); err != nil {
		return fmt.Errorf("settle %d messages: %w", len(c.Messages), err)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
