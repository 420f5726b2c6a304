package outbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// scripted is a store whose calls take as long, and fail, as a test says; n counts the calls of one kind from 1.
type scripted struct {
	*memstore.Store
	acquire, renew, claim func(n int) (time.Duration, error)
	generous              bool // its clock runs slow: it lets a lease live for ever

	acquires, renews, claims atomic.Int64
	mu                       sync.Mutex
	acquired                 []time.Time
	settled                  []error
}

func delay(n *atomic.Int64, script func(int) (time.Duration, error)) error {
	i := n.Add(1)
	if script == nil {
		return nil
	}
	d, err := script(int(i))
	time.Sleep(d)
	return err
}

func (s *scripted) AcquireLanes(ctx context.Context, r outbox.LaneRequest) (outbox.Lanes, error) {
	s.mu.Lock()
	s.acquired = append(s.acquired, time.Now())
	s.mu.Unlock()
	if s.generous {
		r.Lease = 1000 * time.Hour
	}
	lanes, err := s.Store.AcquireLanes(ctx, r)
	return lanes, errors.Join(err, delay(&s.acquires, s.acquire))
}

func (s *scripted) RenewLanes(ctx context.Context, id uuid.UUID, lease time.Duration) error {
	return errors.Join(delay(&s.renews, s.renew), s.Store.RenewLanes(ctx, id, lease))
}

func (s *scripted) Claim(ctx context.Context, r outbox.ClaimRequest) (outbox.Claim, error) {
	c, err := s.Store.Claim(ctx, r)
	if len(c.Messages) == 0 {
		return c, err
	}
	return c, errors.Join(err, delay(&s.claims, s.claim))
}

func (s *scripted) Settle(ctx context.Context, c outbox.Claim, outcomes []outbox.Outcome) (int, error) {
	n, err := s.Store.Settle(ctx, c, outcomes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, err)
	return n, err
}

// unrenewed hides the optional capabilities of a store, as one that can only acquire.
type unrenewed struct{ outbox.Store }

func takes(d time.Duration) func(int) (time.Duration, error) {
	return func(int) (time.Duration, error) { return d, nil }
}

var thirty = outbox.RelayConfig{Lease: 30 * time.Second, Renew: 10 * time.Second, StopTimeout: 5 * time.Minute}

// The timing examples of lease-based relays: T1 to T12 of the published descriptions, where they apply to a store
// whose claims are fenced by tokens.
func TestRelay_lease(t *testing.T) {
	t.Parallel()
	slow := thirty
	slow.MaxPublishDuration = 5 * time.Second

	t.Run("T1_a_claim_that_comes_too_late_for_a_whole_publish_is_released_and_made_again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
			s.claim = func(n int) (time.Duration, error) { return map[bool]time.Duration{true: 26 * time.Second}[n == 1], nil }
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, unrenewed{s}, b, slow)
			time.Sleep(25 * time.Second)
			if got := b.got(""); got != nil {
				t.Errorf("published %v", got)
			}
			time.Sleep(20 * time.Second)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			if n := s.claims.Load(); n != 2 {
				t.Errorf("published under claim %d, want the second", n)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("T4_a_publish_longer_than_the_lease_keeps_it_by_renewal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, peer := memstore.New(memstore.Config{}), &broker{pause: 80 * time.Second}, new(broker)
			hangs := func(n int) (time.Duration, error) { return map[bool]time.Duration{true: 3 * time.Minute}[n > 1], nil }
			enqueue(t, s, message("a", "1"))
			stop := start(t, &scripted{Store: s, acquire: hangs}, b, thirty)
			time.Sleep(time.Second)
			stopPeer := start(t, s, peer, thirty)
			time.Sleep(2 * time.Minute)
			wantStopped(t, stop)
			wantStopped(t, stopPeer)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			if got := peer.got(""); got != nil {
				t.Errorf("the peer published %v", got)
			}
		})
	})
	t.Run("T5_a_relay_frozen_past_its_lease_settles_nothing_and_starts_anew", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, peer := &scripted{Store: memstore.New(memstore.Config{})}, &broker{pause: 45 * time.Second}, new(broker)
			frozen := func(int) (time.Duration, error) { return 45 * time.Second, nil }
			s.acquire = func(n int) (time.Duration, error) { return map[bool]time.Duration{true: 45 * time.Second}[n == 2], nil }
			s.renew = frozen
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, thirty)
			time.Sleep(time.Second)
			stopPeer := start(t, s.Store, peer, thirty)
			time.Sleep(43 * time.Second) // the lease ran out, the peer took over
			if d := cmp.Diff([]string{"1"}, peer.got("")); d != "" {
				t.Errorf("the peer: %s", d)
			}
			s.mu.Lock()
			if len(s.settled) != 0 {
				t.Errorf("settled %v while frozen", s.settled)
			}
			s.mu.Unlock()
			time.Sleep(5 * time.Minute)
			enqueue(t, s.Store, message("a", "2"), message("b", "2"), message("c", "2"), message("d", "2"))
			time.Sleep(5 * time.Minute)
			wantStopped(t, stop)
			wantStopped(t, stopPeer)
			if len(s.settled) == 0 || !errors.Is(s.settled[0], outbox.ErrClaimLost) {
				t.Errorf("settles of the frozen relay: got %v, want the first to be lost", s.settled)
			}
			if n := s.Pending(); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	})
	t.Run("T6_a_renewal_that_errs_does_not_undo_what_was_published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, &broker{pause: 14 * time.Second}
			s.renew = func(int) (time.Duration, error) { return 0, errFault }
			s.acquire = func(n int) (time.Duration, error) {
				if n > 1 && n < 10 {
					return 0, errFault
				}
				return 0, nil
			}
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, thirty)
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			if n := s.Pending(); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	})
	t.Run("T8_nothing_is_published_under_a_lease_that_was_over_when_it_was_answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{}), generous: true}, new(broker)
			s.acquire = func(n int) (time.Duration, error) { return map[bool]time.Duration{true: 65 * time.Second}[n <= 2], nil }
			s.renew = takes(65 * time.Second)
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, outbox.RelayConfig{Lease: time.Minute, Renew: 20 * time.Second, StopTimeout: 5 * time.Minute})
			time.Sleep(125 * time.Second)
			if got := b.got(""); got != nil {
				t.Errorf("published %v", got)
			}
			time.Sleep(5 * time.Minute)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("T9_a_slow_store_is_no_livelock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{}), acquire: takes(25 * time.Second)}, new(broker)
			stop := start(t, s, b, outbox.RelayConfig{Lease: time.Minute, Renew: 20 * time.Second})
			for _, n := range numbers(20) {
				enqueue(t, s.Store, message("a", n))
				time.Sleep(time.Minute)
			}
			if d := cmp.Diff(numbers(20), b.got("")); d != "" {
				t.Error(d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("T12_a_failing_claim_never_lets_the_lease_lapse", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
			s.claim = func(n int) (time.Duration, error) {
				if n <= 40 {
					return 0, errFault
				}
				return 0, nil
			}
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, outbox.RelayConfig{Lease: 30 * time.Second, Renew: 15 * time.Second})
			time.Sleep(10 * time.Minute)
			wantStopped(t, stop)
			for i, at := range s.acquired[1:] {
				if gap := at.Sub(s.acquired[i]); gap >= 30*time.Second {
					t.Errorf("rounds %d and %d are %v apart", i+1, i+2, gap)
				}
			}
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("MaxPublishDuration_does_not_bind_where_lanes_are_renewed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), &broker{pause: 6 * time.Second}
			enqueue(t, s, message("a", "1"))
			stop := start(t, s, b, slow)
			time.Sleep(time.Minute)
			wantStopped(t, stop)
		})
	})
	t.Run("a_publish_beyond_MaxPublishDuration_ends_the_relay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), &broker{pause: 6 * time.Second}
			enqueue(t, s, message("a", "1"))
			stop := start(t, unrenewed{s}, b, slow)
			time.Sleep(time.Minute)
			if err := stop(); err == nil {
				t.Error("Run returned nil")
			}
		})
	})
}
