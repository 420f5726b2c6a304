package outbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// spy is a store that remembers what a relay asked of it. A script may answer in place of the store, or change what
// it answers; nil leaves all as it is.
type spy struct {
	*memstore.Store
	onAcquire func() error                                  // before the store is asked; an error is the answer
	onRenew   func() error                                  // likewise
	onClaim   func(c *outbox.Claim)                         // sees each claim that has messages
	onAnswer  func(c *outbox.Claim)                         // sees each claim
	onSettle  func(ctx context.Context, n int) (int, error) // in place of the answer: n messages, or an error
	onRelease func(ctx context.Context) error               // before the store is asked

	mu       sync.Mutex
	acquired []time.Time
	asked    []outbox.ClaimRequest
	settled  [][]outbox.Outcome
	calls    []string // settle and release, in their order
}

func newSpy() *spy { return &spy{Store: memstore.New(memstore.Config{})} }

func (s *spy) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *spy) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	s.note(func() { s.acquired = append(s.acquired, time.Now()) })
	if s.onAcquire != nil {
		if err := s.onAcquire(); err != nil {
			return outbox.Lanes{}, err
		}
	}
	return s.Store.AcquireLanes(ctx, r)
}

func (s *spy) RenewLanes(ctx context.Context, session uuid.UUID, lease time.Duration) error {
	if s.onRenew != nil {
		if err := s.onRenew(); err != nil {
			return err
		}
	}
	return s.Store.RenewLanes(ctx, session, lease)
}

func (s *spy) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	s.note(func() { s.asked = append(s.asked, r) })
	c, err := s.Store.Claim(ctx, r)
	if s.onClaim != nil && len(c.Messages) > 0 {
		s.onClaim(&c)
	}
	if s.onAnswer != nil {
		s.onAnswer(&c)
	}
	return c, err
}

func (s *spy) Settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	s.note(func() { s.settled, s.calls = append(s.settled, outcomes), append(s.calls, "settle") })
	n, err := s.Store.Settle(ctx, c, outcomes)
	if s.onSettle != nil && err == nil {
		return s.onSettle(ctx, n)
	}
	return n, err
}

func (s *spy) ReleaseLanes(ctx context.Context, session uuid.UUID) error {
	s.note(func() { s.calls = append(s.calls, "release") })
	if s.onRelease != nil {
		if err := s.onRelease(ctx); err != nil {
			return err
		}
	}
	return s.Store.ReleaseLanes(ctx, session)
}

// count returns how often one call was made.
func (s *spy) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

// times fails the first n calls.
func times(n int, err error) func() error {
	return func() error {
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

func wantFailed(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err == nil {
		t.Error("Run: got nil, want an error")
	}
}
