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

// run starts a relay and returns it with what stops it.
func run(
	t *testing.T, s outbox.Store, p outbox.Publisher, config outbox.RelayConfig,
) (r *outbox.Relay, stop func() error) {
	t.Helper()
	config.Logger = quiet
	r, err := outbox.NewRelay(s, p, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() error { cancel(); return <-done }
}

func wantState(t *testing.T, r *outbox.Relay, want outbox.State) {
	t.Helper()
	if got := r.Snapshot().State; got != want {
		t.Errorf("state: got %s, want %s", got, want)
	}
}

func TestRelay_Snapshot(t *testing.T) {
	t.Parallel()
	t.Run("counts_what_became_of_messages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			b.answer = func(m *outbox.Message) outbox.Result {
				if m.Key == "bad" {
					return outbox.Failed(outbox.Permanent(errFault))
				}
				return outbox.Accepted
			}
			enqueue(t, s, message("a", "1"), message("b", "2"), message("bad", "3"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute)
			got := r.Snapshot()
			if got.Delivered != 2 || got.Parked != 1 || got.Refused != 1 || got.InFlight != 0 || got.Lanes != 64 || !got.Leads ||
				got.LastClass != outbox.ClassPermanent || time.Since(got.LastClaim) > 2*time.Second {
				t.Errorf("got %+v", got)
			}
			wantState(t, r, outbox.StateReady)
			wantStopped(t, stop)
			wantState(t, r, outbox.StateStopped)
		})
	})
	t.Run("a_publisher_that_is_down_degrades_until_it_is_back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			down := true
			s, b := memstore.New(memstore.Config{}), new(broker)
			b.answer = func(*outbox.Message) outbox.Result {
				if down {
					return outbox.Failed(outbox.Unavailable(errFault))
				}
				return outbox.Accepted
			}
			enqueue(t, s, message("a", "1"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute)
			wantState(t, r, outbox.StateDegraded)
			if got := r.Snapshot(); !got.PublisherDown || got.StoreDown {
				t.Errorf("got %+v, want only the publisher down", got)
			}
			b.mu.Lock()
			down = false
			b.mu.Unlock()
			time.Sleep(time.Minute)
			wantState(t, r, outbox.StateReady)
			wantStopped(t, stop)
		})
	})
	t.Run("a_relay_that_lost_its_lanes_waits_for_no_publisher", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, away := &spy{Store: memstore.New(memstore.Config{Lanes: 1})}, new(atomic.Bool)
			s.onAcquire = func() error {
				if away.Load() {
					return errFault
				}
				return nil
			}
			s.onRenew = s.onAcquire
			b := &broker{answer: func(*outbox.Message) outbox.Result { return outbox.Failed(outbox.Unavailable(errFault)) }}
			enqueue(t, s.Store, message("a", "1"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute)
			if got := r.Snapshot(); !got.PublisherDown {
				t.Fatalf("got %+v, want the publisher down", got)
			}
			away.Store(true)
			time.Sleep(time.Minute)
			stopPeer := start(t, s.Store, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Minute)
			away.Store(false)
			time.Sleep(time.Minute)
			if got := r.Snapshot(); got.Lanes != 0 || got.PublisherDown || got.State != outbox.StateReady {
				t.Errorf("got %+v, want a relay without lanes that is ready", got)
			}
			wantStopped(t, stop)
			wantStopped(t, stopPeer)
		})
	})
	t.Run("a_store_that_fails_degrades_and_shows_the_age_of_its_last_answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{Store: memstore.New(memstore.Config{})}
			enqueue(t, s.Store, message("a", "1"))
			s.claim = func(int) (time.Duration, error) { return 0, errFault }
			r, stop := run(t, s, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Minute)
			wantState(t, r, outbox.StateDegraded)
			if got := r.Snapshot(); got.PublisherDown || !got.StoreDown {
				t.Errorf("got %+v, want only the store down", got)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("rounds_that_fail_degrade_although_claims_go_on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, rounds := newSpy(), 0
			s.onAcquire = func() error {
				if rounds++; rounds > 3 && rounds < 20 {
					return errFault
				}
				return nil
			}
			r, stop := run(t, s, new(broker), outbox.RelayConfig{})
			time.Sleep(20 * time.Second)
			if got := r.Snapshot(); got.State != outbox.StateDegraded || !got.StoreDown || got.Lanes != 64 {
				t.Errorf("got %+v, want degraded by the store, on all lanes", got)
			}
			time.Sleep(time.Hour)
			wantState(t, r, outbox.StateReady)
			wantStopped(t, stop)
		})
	})
	t.Run("says_that_nobody_runs_it_yet", func(t *testing.T) {
		t.Parallel()
		r, err := outbox.NewRelay(memstore.New(memstore.Config{}), new(broker), outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, r, outbox.StateIdle)
	})
	t.Run("says_that_it_drains_and_that_it_failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), &broker{pause: time.Minute}
			enqueue(t, s, message("a", "1"))
			r, stop := run(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Second)
			go func() { time.Sleep(time.Second); wantState(t, r, outbox.StateDraining) }()
			if err := stop(); err == nil {
				t.Error("Run returned nil although a publish was left behind")
			}
			wantState(t, r, outbox.StateFailed)
			time.Sleep(time.Hour)
		})
	})
}

func TestRelay_policies(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]outbox.RelayConfig{
		"Policy": {Policy: outbox.Policy{MaxAttempts: 3}},
		"Mode":   {Mode: outbox.Pipelined},
		"Topics": {Topics: map[string]outbox.Policy{"orders": {OnExhausted: outbox.Skip}}},
		"Lease":  {Lease: 20 * time.Second},
	} {
		t.Run("a_second_relay_of_a_store_with_another_"+name+"_does_not_start", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New(memstore.Config{})
				_, stop := run(t, s, new(broker), outbox.RelayConfig{})
				time.Sleep(time.Second)
				_, stopOther := run(t, s, new(broker), other)
				time.Sleep(time.Second)
				if f, ok := errors.AsType[*outbox.FieldError](stopOther()); !ok || f.Field != name {
					t.Errorf("got %v, want a *FieldError of %s", f, name)
				}
				wantStopped(t, stop)
				_, stopOther = run(t, s, new(broker), other) // alone it may
				time.Sleep(time.Second)
				wantStopped(t, stopOther)
			})
		})
	}
	t.Run("a_second_relay_with_other_sizes_starts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New(memstore.Config{})
			_, stop := run(t, s, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Second)
			_, stopOther := run(t, s, new(broker), outbox.RelayConfig{Workers: 2, Batch: 10})
			time.Sleep(time.Second)
			wantStopped(t, stopOther)
			wantStopped(t, stop)
		})
	})
	t.Run("a_store_that_cannot_be_compared_is_nobody_elses", func(t *testing.T) {
		t.Parallel()
		type uncomparable struct { // by what it holds, not by its type
			outbox.Store
			outbox.LaneRenewer
			more any
		}
		s := memstore.New(memstore.Config{})
		_, stop := run(t, uncomparable{s, s, []int{}}, new(broker), outbox.RelayConfig{})
		wantStopped(t, stop)
	})
	t.Run("a_relay_runs_once", func(t *testing.T) {
		t.Parallel()
		r, stop := run(t, memstore.New(memstore.Config{}), new(broker), outbox.RelayConfig{})
		wantStopped(t, stop)
		if err := r.Run(t.Context()); err == nil {
			t.Error("a second Run returned nil")
		}
	})
}
