package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

func TestRelay_stop(t *testing.T) {
	t.Parallel()
	t.Run("settles_under_the_deadline_of_the_stop_and_again_after_an_error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: 2 * time.Second}
			fails := times(1, errFault)
			s.onSettle = func(ctx context.Context, n int) (int, error) {
				if ctx.Err() != nil {
					t.Error("settled under a context that has ended")
				}
				return n, fails()
			}
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Second)
			wantStopped(t, stop)
			if d := cmp.Diff([]string{"settle", "settle", "release"}, s.calls); d != "" {
				t.Error(d)
			}
			if n := s.Pending(); n != 0 {
				t.Errorf("%d messages are left", n)
			}
		})
	})
	t.Run("waits_for_every_worker_and_releases_once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: time.Second, ordered: true}
			for _, n := range numbers(400) {
				enqueue(t, s.Store, message(n, n))
			}
			stop := start(t, s, b, outbox.RelayConfig{Batch: 10})
			time.Sleep(2500 * time.Millisecond)
			wantStopped(t, stop)
			if last := s.calls[len(s.calls)-1]; last != "release" || s.count("release") != 1 {
				t.Errorf("calls end with %s after %d releases, want one release at the end", last, s.count("release"))
			}
			if got, left := len(b.got("")), s.Pending(); got+left != 400 || left == 0 {
				t.Errorf("accepted %d and left %d of 400", got, left)
			}
		})
	})
	t.Run("releases_nothing_past_its_deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, &broker{pause: time.Hour}, outbox.RelayConfig{StopTimeout: time.Second})
			time.Sleep(time.Second)
			begin := time.Now()
			wantFailed(t, stop)
			if took := time.Since(begin); took != time.Second {
				t.Errorf("stopped after %v, want StopTimeout", took)
			}
			time.Sleep(2 * time.Hour) // the publish has come back
			if n := s.count("release"); n != 0 {
				t.Errorf("released %d times what may still be in flight", n)
			}
		})
	})
	t.Run("leaves_a_release_behind_that_hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			s.onRelease = func(context.Context) error { time.Sleep(time.Hour); return errFault }
			stop := start(t, s, new(broker), outbox.RelayConfig{StopTimeout: time.Second})
			time.Sleep(time.Second)
			begin := time.Now()
			wantFailed(t, stop)
			if took := time.Since(begin); took != time.Second {
				t.Errorf("stopped after %v, want StopTimeout", took)
			}
			time.Sleep(2 * time.Hour)
		})
	})
	t.Run("takes_a_release_that_fails_for_no_error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			s.onRelease = func(context.Context) error { return errFault }
			stop := start(t, s, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Second)
			wantStopped(t, stop)
		})
	})
	t.Run("releases_also_after_a_fault_that_ends_the_relay", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, talkative{}, outbox.RelayConfig{})
			synctest.Wait()
			wantFailed(t, stop)
			if d := cmp.Diff([]string{"release"}, s.calls); d != "" {
				t.Error(d)
			}
		})
	})
}

// talkative is a publisher that answers for more messages than it was given.
type talkative struct{}

func (talkative) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	return make([]outbox.Result, len(messages)+1)
}
