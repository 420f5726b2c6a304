package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// watcher remembers what an observer is told, but for claims of nothing.
type watcher struct {
	mu      sync.Mutex
	cycles  []outbox.CycleEvent
	breaker []outbox.BreakerEvent
	lost    []outbox.LeaseEvent
}

func (w *watcher) observer() outbox.Observer {
	return outbox.Observer{
		Cycle: func(e outbox.CycleEvent) {
			if len(e.Outcomes) > 0 || e.Err != nil {
				e.Calls, e.Outcomes = slices.Clone(e.Calls), slices.Clone(e.Outcomes)
				note(w, &w.cycles, e)
			}
		},
		Breaker:   func(e outbox.BreakerEvent) { note(w, &w.breaker, e) },
		LeaseLost: func(e outbox.LeaseEvent) { note(w, &w.lost, e) },
	}
}

func note[E any](w *watcher, log *[]E, e E) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*log = append(*log, e)
}

// each calls fn for every event.
func each(fn func()) outbox.Observer {
	return outbox.Observer{
		Cycle:     func(outbox.CycleEvent) { fn() },
		Breaker:   func(outbox.BreakerEvent) { fn() },
		LeaseLost: func(outbox.LeaseEvent) { fn() },
	}
}

func TestRelay_observer(t *testing.T) {
	t.Parallel()
	t.Run("is_told_of_claim_publish_and_settle_and_how_long_each_took", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w := &scripted{Store: memstore.New(memstore.Config{})}, &broker{pause: 100 * time.Millisecond}, new(watcher)
			s.claim, b.answer = takes(10*time.Millisecond), refuse("bad")
			stop := start(t, s, b, outbox.RelayConfig{ID: "watched", Poll: time.Minute, Observer: w.observer()})
			time.Sleep(time.Hour + time.Second) // between rounds and polls
			enqueue(t, s.Store, message("a", "1"), message("b", "bad"), message("a", "2"))
			time.Sleep(40 * time.Millisecond) // they are out
			enqueue(t, s.Store, message("c", "3"))
			time.Sleep(time.Second)
			wantStopped(t, stop)

			first, second := w.cycles[0], w.cycles[1]
			want := []outbox.Verdict{outbox.Delivered, outbox.Retry, outbox.Delivered}
			if d := cmp.Diff(want, verdicts(first)); d != "" {
				t.Errorf("outcomes: %s", d)
			}
			if first.Outcomes[1].Class != outbox.ClassRefused || !errors.Is(first.Outcomes[1].Err, errFault) {
				t.Errorf("second outcome: got %+v, want a refusal", first.Outcomes[1])
			}
			calls := []outbox.Call{{Messages: 2, Took: 100 * time.Millisecond}, {Messages: 1, Took: 100 * time.Millisecond}}
			if d := cmp.Diff(calls, first.Calls); d != "" {
				t.Errorf("calls: %s", d)
			}
			first.Calls, first.Outcomes = nil, nil
			if d := cmp.Diff(outbox.CycleEvent{
				Limit: 500, Claiming: 10 * time.Millisecond, Tries: 1, Took: 210 * time.Millisecond,
			}, first); d != "" {
				t.Errorf("first cycle: %s", d)
			}
			if len(second.Outcomes) != 1 || second.Waited != 170*time.Millisecond {
				t.Errorf("second cycle: got %+v, want the message that came 40 ms after the first of 210", second)
			}
		})
	})
	t.Run("counts_news_from_the_first_that_no_claim_came_after", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w := memstore.New(memstore.Config{}), &broker{pause: 100 * time.Millisecond}, new(watcher)
			stop := start(t, s, b, outbox.RelayConfig{ID: "watched", Poll: time.Minute, Observer: w.observer()})
			time.Sleep(time.Hour + time.Second)
			for _, n := range numbers(3) {
				enqueue(t, s, message(n, n))
				time.Sleep(30 * time.Millisecond)
			}
			time.Sleep(time.Second)
			wantStopped(t, stop)
			if got := w.cycles[1]; len(got.Outcomes) != 2 || got.Waited != 70*time.Millisecond {
				t.Errorf("got %+v, want two messages of which the first waited for 70 ms", got)
			}
		})
	})
	t.Run("is_told_of_a_claim_without_an_answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, w := &scripted{Store: memstore.New(memstore.Config{})}, new(watcher)
			s.claim = func(n int) (time.Duration, error) {
				return 30 * time.Millisecond, map[bool]error{true: errFault}[n == 1]
			}
			enqueue(t, s.Store, message("a", "1"))
			stop := start(t, s, new(broker), outbox.RelayConfig{Observer: w.observer()})
			time.Sleep(time.Second)
			wantStopped(t, stop)
			if len(w.cycles) != 2 || w.cycles[1].Err != nil {
				t.Fatalf("got %+v, want the claim without an answer, and the next one", w.cycles)
			}
			want := outbox.CycleEvent{Limit: 500, Claiming: 30 * time.Millisecond, Took: 30 * time.Millisecond, Err: errFault}
			if d := cmp.Diff(want, w.cycles[0], cmpopts.EquateErrors(), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("is_told_that_the_broker_went_down_and_came_back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w, down := memstore.New(memstore.Config{}), new(broker), new(watcher), true
			b.answer = func(*outbox.Message) outbox.Result {
				if down {
					return outbox.Failed(outbox.Unavailable(errFault))
				}
				return outbox.Accepted
			}
			stop := start(t, s, b, outbox.RelayConfig{Observer: w.observer()})
			enqueue(t, s, message("a", "1"))
			time.Sleep(time.Minute)
			b.mu.Lock()
			down = false
			b.mu.Unlock()
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if len(w.breaker) != 2 || !w.breaker[0].Down || w.breaker[1].Down ||
				!errors.Is(w.breaker[0].Err, errFault) || w.breaker[1].Err != nil {
				t.Errorf("got %+v, want down by the fault and up again", w.breaker)
			}
		})
	})
	t.Run("is_told_of_lanes_that_were_lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, w, rounds := newSpy(), new(watcher), 0
			s.onAcquire = func() error {
				if rounds++; rounds == 2 {
					return outbox.ErrSessionEnded
				}
				return nil
			}
			stop := start(t, s, new(broker), outbox.RelayConfig{Observer: w.observer()})
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if d := cmp.Diff([]outbox.LeaseEvent{{Lanes: 64}}, w.lost); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("is_told_of_a_claim_that_was_lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, w := newSpy(), new(watcher)
			s.onSettle = func(context.Context, int) (int, error) { return 0, outbox.ErrClaimLost }
			enqueue(t, s.Store, message("a", "1"))
			r, stop := run(t, s, new(broker), outbox.RelayConfig{Observer: w.observer()})
			time.Sleep(time.Second)
			wantStopped(t, stop)
			if len(w.cycles) != 1 || w.cycles[0].Tries != 1 || !errors.Is(w.cycles[0].Err, outbox.ErrClaimLost) {
				t.Errorf("got %+v, want one claim that was lost", w.cycles)
			}
			if got := r.Snapshot(); got.ClaimsLost != 1 || got.Uncertain != 1 || got.Delivered != 0 {
				t.Errorf("got %+v, want one lost claim of one uncertain message", got)
			}
		})
	})
}

// What a settle leaves unknown is counted as uncertain, and not as delivered.
func TestRelay_uncertain(t *testing.T) {
	t.Parallel()
	t.Run("a_settle_whose_answer_was_lost_is_no_lost_claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, w, fails := newSpy(), new(watcher), times(1, errFault)
			s.onSettle = func(_ context.Context, n int) (int, error) { return n, fails() }
			enqueue(t, s.Store, message("a", "1"))
			r, stop := run(t, s, new(broker), outbox.RelayConfig{Observer: w.observer()})
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if got := r.Snapshot(); got.ClaimsLost != 0 || got.Uncertain != 1 || got.Delivered != 0 || got.InFlight != 0 {
				t.Errorf("got %+v, want one uncertain message", got)
			}
			if len(w.cycles) != 1 || w.cycles[0].Tries != 2 || w.cycles[0].Settling == 0 {
				t.Errorf("got %+v, want one settle of two tries", w.cycles)
			}
		})
	})
	t.Run("a_settle_that_a_stop_cut_off_delivered_nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &unsettling{Store: memstore.New(memstore.Config{})}, new(broker)
			b.answer = refuse("bad")
			enqueue(t, s.Store, message("a", "1"), message("b", "bad"))
			r, stop := run(t, s, b, outbox.RelayConfig{Policy: outbox.Policy{MaxAttempts: 1}})
			time.Sleep(time.Second)
			wantState(t, r, outbox.StateDegraded)
			wantFailed(t, stop)
			synctest.Wait()
			if got := r.Snapshot(); got.Delivered != 0 || got.Uncertain != 1 || got.Parked != 0 || got.Refused != 1 {
				t.Errorf("got %+v, want one uncertain message, and one refused that is not parked", got)
			}
		})
	})
}

// unsettling is a store that settles nothing.
type unsettling struct{ *memstore.Store }

func (unsettling) Settle(context.Context, outbox.Claim, []outbox.Outcome) (int, error) {
	return 0, errFault
}

// A relay does not depend on who watches it.
func TestRelay_observer_harms_nothing(t *testing.T) {
	t.Parallel()
	t.Run("a_slow_one_loses_no_lane_and_no_order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, w := memstore.New(memstore.Config{}), flaky("5", 2), new(watcher)
			o := each(func() { time.Sleep(20 * time.Second) }) // longer than a lease
			o.LeaseLost = w.observer().LeaseLost
			enqueueAll(t, s, 20)
			r, stop := run(t, s, b, outbox.RelayConfig{Batch: 3, StopTimeout: time.Minute, Observer: o})
			time.Sleep(time.Hour)
			if got := r.Snapshot(); got.Delivered != 40 || got.Uncertain != 0 || got.ClaimsLost != 0 || len(w.lost) != 0 {
				t.Errorf("got %+v, want all of 40 delivered, and the lanes kept", got)
			}
			wantStopped(t, stop)
			wantAll(t, b, 20)
		})
	})
	t.Run("one_that_panics_is_called_once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, calls := memstore.New(memstore.Config{}), flaky("5", 2), 0
			enqueueAll(t, s, 20)
			stop := start(t, s, b, outbox.RelayConfig{Workers: 1, Observer: each(func() { calls++; panic("at the sight") })})
			time.Sleep(time.Hour)
			wantStopped(t, stop)
			wantAll(t, b, 20)
			if calls != 1 {
				t.Errorf("called %d times, want once", calls)
			}
		})
	})
	t.Run("one_that_asks_for_a_snapshot_has_it_at_once", func(t *testing.T) {
		t.Parallel()
		var once sync.Once
		relay, answer, got := make(chan *outbox.Relay, 1), make(chan outbox.State, 1), make(chan outbox.State, 1)
		ask := func() {
			r := <-relay
			go func() { answer <- r.Snapshot().State }()
			select {
			case state := <-answer:
				got <- state
			case <-time.After(10 * time.Second): // it waits for this very call
				close(got)
			}
		}
		o := outbox.Observer{Cycle: func(outbox.CycleEvent) { once.Do(ask) }}
		r, stop := run(t, memstore.New(memstore.Config{}), new(broker), outbox.RelayConfig{Observer: o})
		relay <- r
		if state := <-got; state != outbox.StateReady {
			t.Errorf("got the state %q, want ready", state)
		}
		wantStopped(t, stop)
	})
	t.Run("one_that_hangs_does_not_hold_up_a_stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, end := memstore.New(memstore.Config{}), make(chan struct{})
			enqueue(t, s, message("a", "1"))
			stop := start(t, s, new(broker), outbox.RelayConfig{Observer: each(func() { <-end })})
			time.Sleep(time.Second)
			began := time.Now()
			wantFailed(t, stop)
			if took := time.Since(began); took != 10*time.Second {
				t.Errorf("stopped after %v, want the timeout of 10 s", took)
			}
			close(end)
		})
	})
}

func verdicts(e outbox.CycleEvent) (vs []outbox.Verdict) {
	for _, o := range e.Outcomes {
		vs = append(vs, o.Verdict)
	}
	return vs
}

// flaky is a broker that refuses one message some times before it takes it.
func flaky(payload string, times int) *broker {
	b := new(broker)
	b.answer = func(m *outbox.Message) outbox.Result {
		if string(m.Payload) == payload && times > 0 {
			times--
			return outbox.Failed(errFault)
		}
		return outbox.Accepted
	}
	return b
}

// enqueueAll commits n messages of each of two keys.
func enqueueAll(t *testing.T, s *memstore.Store, n int) {
	t.Helper()
	for _, p := range numbers(n) {
		enqueue(t, s, message("a", p), message("b", p))
	}
}

func wantAll(t *testing.T, b *broker, n int) {
	t.Helper()
	for _, key := range []string{"a", "b"} {
		if d := cmp.Diff(numbers(n), b.got(key)); d != "" {
			t.Errorf("key %s: %s", key, d)
		}
	}
}
