package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// Only what a publisher answered says how it stands.
func TestRelay_breaker(t *testing.T) {
	t.Parallel()
	t.Run("stays_closed_when_a_claim_came_too_late_to_be_published", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w := &scripted{Store: memstore.New(memstore.Config{})}, new(broker), new(watcher)
			s.claim = func(n int) (time.Duration, error) {
				return map[bool]time.Duration{true: 16 * time.Second}[n == 1], nil
			}
			enqueue(t, s.Store, message("a", "1"))
			r, stop := run(t, s, b, outbox.RelayConfig{Observer: w.observer()})
			time.Sleep(time.Minute)
			if len(w.breaker) != 0 || r.Snapshot().PublisherDown {
				t.Errorf("got %+v about a publisher that was not asked", w.breaker)
			}
			wantStopped(t, stop)
			if d := cmp.Diff([]string{"1"}, b.got("a")); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("stays_closed_when_a_message_is_parked_for_its_crashes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w := memstore.New(memstore.Config{}), new(broker), new(watcher)
			enqueue(t, s, message("a", "1"))
			crash(t, s, 1)
			stop := start(t, s, b, outbox.RelayConfig{MaxCrashes: 1, Observer: w.observer()})
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if len(w.breaker) != 0 {
				t.Errorf("got %+v about a publisher that was not asked", w.breaker)
			}
			if got := b.got(""); got != nil {
				t.Errorf("published %v, want it parked", got)
			}
		})
	})
	for name, m := range map[string]outbox.Mux{
		"lets_one_transport_go_on_while_another_is_down":    {"": new(broker), "other": outage()},
		"lets_messages_pass_those_of_a_transport_not_there": {"": new(broker)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New(memstore.Config{Lanes: 1})
				for _, n := range numbers(100) {
					enqueue(t, s, via("other", n))
				}
				stop := start(t, s, m, outbox.RelayConfig{})
				time.Sleep(time.Minute)
				enqueue(t, s, message("a", "1"))
				time.Sleep(time.Second)
				if d := cmp.Diff([]string{"1"}, m[""].(*broker).got("a")); d != "" {
					t.Errorf("a second after the commit: %s", d)
				}
				wantStopped(t, stop)
			})
		})
	}
	t.Run("tells_when_the_first_of_several_brokers_goes_down_and_the_last_comes_back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, one, two, w := memstore.New(memstore.Config{}), outage(), outage(), new(watcher)
			r, stop := run(t, s, outbox.Mux{"": one, "one": one, "two": two}, outbox.RelayConfig{Observer: w.observer()})
			enqueue(t, s, message("a", "1"))
			for _, step := range []struct {
				what string
				do   func()
				down bool
				told int
			}{
				{"one is down", func() {}, true, 1},
				{"two is down as well", func() { enqueue(t, s, via("two", "2")) }, true, 1},
				{"one is back", func() { one.mend(); enqueue(t, s, via("one", "3")) }, true, 1},
				{"two is back", two.mend, false, 2},
			} {
				step.do()
				time.Sleep(10 * time.Second)
				if down := r.Snapshot().PublisherDown; down != step.down || len(w.breaker) != step.told {
					t.Errorf("%s: down is %t, told of %+v; want %t, %d times", step.what, down, w.breaker, step.down, step.told)
				}
			}
			wantStopped(t, stop)
		})
	})
}

// outage is a broker that is down until it is mended.
func outage() *broker {
	return &broker{answer: func(*outbox.Message) outbox.Result { return outbox.Failed(outbox.Unavailable(errFault)) }}
}

func (b *broker) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = nil
}
