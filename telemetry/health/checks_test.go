package health_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry/health"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T){
		"are_ready_while_every_relay_is_and_the_backlog_is_small":       checkWell,
		"are_not_ready_while_a_relay_has_not_started_or_has_stopped":    checkNotReady,
		"are_neither_live_nor_ready_when_a_relay_has_failed":            checkFailed,
		"are_not_live_when_a_relay_makes_no_claims_any_more":            checkStuck,
		"are_live_and_ready_while_a_relay_stands_by_without_lanes":      checkStandby,
		"tell_a_store_that_is_down_from_a_publisher_that_is_down":       checkCauses,
		"clear_the_store_s_fault_and_not_the_publisher_s_when_it_is_up": checkCleared,
		"are_not_ready_when_nobody_relays_and_the_oldest_gets_too_old":  checkNobody,
		"are_ready_while_messages_are_parked_unless_that_is_bounded":    checkParked,
		"are_not_ready_when_too_many_messages_are_due":                  checkLarge,
		"tell_a_backlog_that_is_not_known_from_an_empty_one":            checkUnknown,
		"ask_the_store_again_only_when_the_last_look_is_old":            checkSeldom,
		"ask_again_after_a_look_that_who_asked_gave_up":                 checkGivenUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, check)
		})
	}
}

func checkWell(t *testing.T) {
	f := newFaulty()
	r, stop := run(t, f, outbox.RelayConfig{})
	other, stopOther := run(t, f, outbox.RelayConfig{})
	f.enqueue(t, message("a"))
	time.Sleep(time.Minute)
	report := health.New(health.Config{Store: f, Logger: quiet}, r, other).Check(t.Context())
	want(t, report, true, true)
	if len(report.Relays) != 2 || report.Relays[0].Delivered+report.Relays[1].Delivered != 1 {
		t.Errorf("relays: got %+v, want two that have delivered one message", report.Relays)
	}
	if b := report.Backlog; b == nil || len(b.Messages) != 0 || b.Oldest != 0 {
		t.Errorf("backlog: got %+v, want one that is known to be empty", b)
	}
	wantStopped(t, stop, stopOther)
}

func wantStopped(t *testing.T, stops ...func() error) {
	t.Helper()
	for _, stop := range stops {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func checkNotReady(t *testing.T) {
	f := newFaulty()
	idle, err := outbox.NewRelay(f, f, outbox.RelayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	r, stop := run(t, f, outbox.RelayConfig{})
	time.Sleep(time.Minute)
	checks := health.New(health.Config{}, r, idle)
	want(t, checks.Check(t.Context()), true, false, health.CauseNotReady)
	wantStopped(t, stop)
	want(t, checks.Check(t.Context()), true, false, health.CauseNotReady, health.CauseNotReady)
}

func checkFailed(t *testing.T) {
	f := newFaulty()
	f.answer = outbox.Failed(outbox.Permanent(errFault))
	r, stop := run(t, f, outbox.RelayConfig{Policy: outbox.Policy{OnExhausted: outbox.Stop}})
	f.enqueue(t, message("a"))
	time.Sleep(time.Minute)
	if err := stop(); err == nil {
		t.Fatal("the relay has not failed")
	}
	want(t, health.New(health.Config{}, r).Check(t.Context()), false, false, health.CauseFailed)
}

func checkStuck(t *testing.T) {
	f := newFaulty()
	f.pause = 10 * time.Minute
	r, stop := run(t, f, outbox.RelayConfig{Workers: 1})
	f.enqueue(t, message("a"))
	time.Sleep(time.Minute)
	checks := health.New(health.Config{}, r)
	want(t, checks.Check(t.Context()), true, true)
	time.Sleep(2 * time.Minute)
	want(t, checks.Check(t.Context()), false, false, health.CauseStuck)
	time.Sleep(10 * time.Minute)
	want(t, checks.Check(t.Context()), true, true)
	wantStopped(t, stop)
}

func checkStandby(t *testing.T) {
	f := newFaulty()
	f.Store = oneLane()
	r, stop := run(t, f, outbox.RelayConfig{})
	time.Sleep(time.Minute)
	f.set(func(f *faulty) { f.down = true })
	time.Sleep(time.Minute) // its session has expired
	other, err := outbox.NewRelay(f.Store, f, outbox.RelayConfig{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- other.Run(ctx) }()
	time.Sleep(time.Minute)
	f.set(func(f *faulty) { f.down = false })
	time.Sleep(time.Hour)
	if got := r.Snapshot(); got.Lanes != 0 || time.Since(got.LastClaim) < time.Hour {
		t.Fatalf("got %+v, want a relay without lanes since long ago", got)
	}
	want(t, health.New(health.Config{}, r, other).Check(t.Context()), true, true)
	cancel()
	wantStopped(t, stop, func() error { return <-ended })
}

func checkCauses(t *testing.T) {
	f := newFaulty()
	r, stop := run(t, f, outbox.RelayConfig{})
	checks := health.New(health.Config{Store: f, Logger: quiet}, r)
	f.set(func(f *faulty) { f.answer = outbox.Failed(outbox.Unavailable(errFault)) })
	f.enqueue(t, message("a"))
	time.Sleep(time.Minute)
	want(t, checks.Check(t.Context()), true, false, health.CausePublisherDown)
	f.set(func(f *faulty) { f.down = true })
	time.Sleep(time.Minute)
	want(t, checks.Check(t.Context()), true, false,
		health.CauseStoreDown, health.CausePublisherDown, health.CauseBacklogUnknown)
	f.set(func(f *faulty) { f.down, f.answer = false, outbox.Accepted })
	time.Sleep(time.Minute)
	want(t, checks.Check(t.Context()), true, true)
	wantStopped(t, stop)
}

func checkCleared(t *testing.T) {
	f := newFaulty()
	r, stop := run(t, f, outbox.RelayConfig{})
	f.set(func(f *faulty) { f.answer = outbox.Failed(outbox.Unavailable(errFault)) })
	f.enqueue(t, message("a"))
	time.Sleep(time.Minute)
	f.set(func(f *faulty) { f.down = true })
	time.Sleep(time.Minute)
	f.set(func(f *faulty) { f.down = false })
	time.Sleep(time.Minute)
	other, stopOther := run(t, f, outbox.RelayConfig{})
	time.Sleep(time.Minute)
	report := health.New(health.Config{}, r, other).Check(t.Context())
	if got := report.Relays[0]; got.StoreDown || !got.PublisherDown || report.Ready {
		t.Errorf("got %+v, ready %v: want a publisher that is down, and a store that is not", got, report.Ready)
	}
	wantStopped(t, stop, stopOther)
}

func checkNobody(t *testing.T) {
	f := newFaulty()
	checks := health.New(health.Config{Store: f, MaxAge: time.Minute}) // no relay in this process, nor elsewhere
	f.enqueue(t, message("a"))
	want(t, checks.Check(t.Context()), true, true)
	time.Sleep(2 * time.Minute)
	report := checks.Check(t.Context())
	want(t, report, true, false, health.CauseOld)
	if report.Backlog.Oldest != 2*time.Minute {
		t.Errorf("age: got %v, want 2m", report.Backlog.Oldest)
	}
}

func checkParked(t *testing.T) {
	f := newFaulty()
	f.answer = outbox.Failed(outbox.Permanent(errFault))
	r, stop := run(t, f, outbox.RelayConfig{})
	m := message("a")
	f.enqueue(t, m)
	time.Sleep(time.Minute)
	checks := health.New(health.Config{Store: f}, r)
	want(t, checks.Check(t.Context()), true, true)
	none := health.New(health.Config{Store: f, MaxParked: -1}, r)
	want(t, none.Check(t.Context()), true, false, health.CauseParked)
	want(t, health.New(health.Config{Store: f, MaxParked: 1}, r).Check(t.Context()), true, true)
	f.set(func(f *faulty) { f.answer = outbox.Accepted })
	if _, err := f.Requeue(t.Context(), outbox.Act{By: "t", Reason: "r"}, m.ID); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	want(t, none.Check(t.Context()), true, true)
	wantStopped(t, stop)
}

func checkLarge(t *testing.T) {
	f := newFaulty()
	f.enqueue(t, message("a"), message("b"), message("c"))
	want(t, health.New(health.Config{Store: f, MaxBacklog: 3}).Check(t.Context()), true, true)
	want(t, health.New(health.Config{Store: f, MaxBacklog: 2}).Check(t.Context()), true, false, health.CauseLarge)
}

func checkUnknown(t *testing.T) {
	f := newFaulty()
	checks := health.New(health.Config{Store: f, Logger: quiet})
	f.set(func(f *faulty) { f.down = true })
	report := checks.Check(t.Context())
	want(t, report, true, false, health.CauseBacklogUnknown)
	if report.Backlog != nil {
		t.Errorf("backlog: got %+v, want none", report.Backlog)
	}
}

func checkSeldom(t *testing.T) {
	f := newFaulty()
	f.enqueue(t, message("a"))
	checks := health.New(health.Config{Store: f, Every: 10 * time.Second})
	for second := range 10 {
		if got := checks.Check(t.Context()).Backlog.Oldest; got != time.Duration(second)*time.Second {
			t.Errorf("age after %d s: got %v", second, got)
		}
		time.Sleep(time.Second)
	}
	if f.queries != 1 {
		t.Errorf("got %d queries in ten seconds, want one", f.queries)
	}
	checks.Check(t.Context())
	if f.queries != 2 {
		t.Errorf("got %d queries after them, want two", f.queries)
	}
}

func checkGivenUp(t *testing.T) {
	f := newFaulty()
	checks := health.New(health.Config{Store: f, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want(t, checks.Check(ctx), true, false, health.CauseBacklogUnknown)
	want(t, checks.Check(t.Context()), true, true)
}
