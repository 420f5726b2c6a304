package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// attic is a store with things that are past their time.
type attic struct {
	*memstore.Store
	full  atomic.Int64
	calls atomic.Int64
	err   error
}

func (a *attic) Prune(ctx context.Context, limit int) (int, error) {
	a.calls.Add(1)
	if a.err != nil {
		return 0, a.err
	}
	n := min(a.full.Load(), int64(limit))
	a.full.Add(-n)
	return int(n), ctx.Err()
}

func TestRelay_prunes(t *testing.T) {
	t.Parallel()
	t.Run("what_is_past_its_time_until_there_is_no_more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &attic{Store: memstore.New(memstore.Config{})}
			a.full.Store(5500)
			stop := start(t, a, new(broker), outbox.RelayConfig{})
			time.Sleep(2 * time.Minute)
			if n := a.full.Load(); n != 0 {
				t.Errorf("%d things are left", n)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("about_once_a_minute_and_goes_on_after_an_error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &attic{Store: memstore.New(memstore.Config{}), err: errors.New("no")}
			stop := start(t, a, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Hour)
			if n := a.calls.Load(); n < 40 || n > 121 {
				t.Errorf("asked %d times in an hour, want once in 30 to 90 seconds", n)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("a_bounded_number_in_a_row", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := &attic{Store: memstore.New(memstore.Config{})}
			a.full.Store(1 << 40)
			stop := start(t, a, new(broker), outbox.RelayConfig{})
			time.Sleep(29 * time.Second)
			before := a.calls.Load()
			time.Sleep(62 * time.Second)
			if n := a.calls.Load(); before != 0 || n < 100 || n > 200 || n%100 != 0 {
				t.Errorf("%d calls before the first half minute and %d after the second one, want 0 and hundreds", before, n)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("in_one_relay_of_several", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			shared := memstore.New(memstore.Config{})
			one, other := &attic{Store: shared}, &attic{Store: shared}
			stopOne := start(t, one, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Second)
			stopOther := start(t, other, new(broker), outbox.RelayConfig{})
			time.Sleep(10 * time.Minute)
			if n, m := one.calls.Load(), other.calls.Load(); (n == 0) == (m == 0) {
				t.Errorf("asked %d and %d times, want one of them alone", n, m)
			}
			wantStopped(t, stopOther)
			wantStopped(t, stopOne)
		})
	})
}
