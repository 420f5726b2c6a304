package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// More timing examples of lease-based relays, beside those of TestRelay_lease.
func TestRelay_timing(t *testing.T) {
	t.Parallel()
	slow := thirty
	slow.MaxPublishDuration = 5 * time.Second

	t.Run("T2_nothing_is_published_while_each_round_eats_the_time_for_it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
			s.acquire = func(n int) (time.Duration, error) {
				return map[bool]time.Duration{true: 20 * time.Second}[n > 1 && n < 6], nil
			}
			stop := start(t, unrenewed{s}, b, slow)
			time.Sleep(16 * time.Second) // the latest start is 15 s after a round began
			enqueue(t, s.Store, message("a", "1"))
			time.Sleep(70 * time.Second)
			if got := b.got(""); got != nil {
				t.Errorf("published %v", got)
			}
			time.Sleep(time.Minute)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("a_claim_of_many_waves_is_published_as_far_as_the_lease_is_sure_to_reach", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: 5 * time.Second}
			began := time.Now()
			s.onAcquire = func() error {
				if since := time.Since(began); since > 0 && since < 25*time.Second {
					return errFault
				}
				return nil
			}
			for _, n := range numbers(8) {
				enqueue(t, s.Store, message("a", n))
			}
			stop := start(t, unrenewed{s}, b, slow) // the latest start is 15 s after a round began
			time.Sleep(24 * time.Second)
			if d := cmp.Diff(numbers(3), b.got("")); d != "" {
				t.Errorf("published while no round succeeds: %s", d)
			}
			time.Sleep(2 * time.Minute)
			wantStopped(t, stop)
			if d := cmp.Diff(numbers(8), b.got("")); d != "" {
				t.Error(d)
			}
		})
	})
	for name, tc := range map[string]struct {
		took   time.Duration
		claims int64
	}{
		"T11_a_claim_49_seconds_old_leaves_time_for_120_seconds_of_publishing": {49 * time.Second, 1},
		"T11_a_claim_50_seconds_old_does_not":                                  {50 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
				s.claim = func(n int) (time.Duration, error) { return map[bool]time.Duration{true: tc.took}[n == 1], nil }
				enqueue(t, s.Store, message("a", "1"))
				stop := start(t, unrenewed{s}, b, outbox.RelayConfig{
					Lease: 180 * time.Second, Renew: 10 * time.Second, MaxPublishDuration: 120 * time.Second,
					StopTimeout: 5 * time.Minute,
				})
				time.Sleep(3 * time.Minute)
				wantStopped(t, stop)
				if n := s.claims.Load(); n != tc.claims || len(b.got("")) != 1 {
					t.Errorf("published %v under claim %d, want claim %d", b.got(""), n, tc.claims)
				}
			})
		})
	}
	t.Run("T3_a_renewal_that_is_answered_after_the_lease_ran_out_revives_nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{}), generous: true}, new(broker)
			s.acquire = func(n int) (time.Duration, error) { return map[bool]time.Duration{true: 3 * time.Minute}[n == 2], nil }
			s.renew = takes(21 * time.Second)
			stop := start(t, s, b, thirty)
			time.Sleep(34 * time.Second) // a renewal began in time, and its answer says yes
			enqueue(t, s.Store, message("a", "1"))
			time.Sleep(2 * time.Minute)
			if s.renews.Load() == 0 {
				t.Error("nothing was renewed")
			}
			if got := b.got(""); got != nil {
				t.Errorf("published %v", got)
			}
			time.Sleep(2 * time.Minute) // a round has been answered in time
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("T7_a_publish_that_outlives_the_lease_is_settled_while_nobody_has_recovered_it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: 35 * time.Second}
			cut := func() error {
				if len(s.acquired) > 1 {
					return errFault // the store does not hear of it
				}
				return nil
			}
			s.onAcquire, s.onRenew = cut, func() error { return errFault }
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, thirty)
			time.Sleep(36 * time.Second)
			if n := s.Pending(); n != 0 {
				t.Errorf("%d messages are left, want the token to decide", n)
			}
			_ = stop()
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("rounds_of_rebalancing_go_on_beside_a_long_publish", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: 80 * time.Second}
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, thirty)
			time.Sleep(85 * time.Second)
			wantStopped(t, stop)
			if n := len(s.acquired); n < 8 {
				t.Errorf("made %d rounds in 85 seconds, want one every 10", n)
			}
		})
	})
	t.Run("a_long_poll_lets_no_lease_lapse", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			stop := start(t, s, new(broker), outbox.RelayConfig{Poll: time.Minute})
			time.Sleep(10 * time.Minute)
			wantStopped(t, stop)
			for i, at := range s.acquired[1:] {
				if gap := at.Sub(s.acquired[i]); gap >= 15*time.Second {
					t.Errorf("rounds %d and %d are %v apart, the lease is 15 s", i+1, i+2, gap)
				}
			}
		})
	})
	t.Run("a_restart_under_the_same_label_is_a_new_session_and_waits_for_the_old_lease", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, dead, b := memstore.New(memstore.Config{}), &broker{pause: 1000 * time.Hour}, new(broker)
			config := outbox.RelayConfig{ID: "orders-1", StopTimeout: time.Second}
			enqueue(t, s, message("a", "1"), message("a", "2"))
			stuck := start(t, s, dead, config)
			time.Sleep(time.Second)
			wantFailed(t, stuck) // its claim is left behind
			stop := start(t, s, b, config)
			time.Sleep(5 * time.Second)
			if got := b.got(""); got != nil {
				t.Errorf("published %v beside the claim of the old session", got)
			}
			time.Sleep(15 * time.Second)
			if d := cmp.Diff([]string{"1", "2"}, b.got("a")); d != "" {
				t.Errorf("after the old lease: %s", d)
			}
			wantStopped(t, stop)
			time.Sleep(1000 * time.Hour) // the publish that was left behind ends
		})
	})
}
