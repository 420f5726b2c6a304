package amqp_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/outbox"
)

// timed returns the results of one call and how long it took.
func timed(ctx context.Context, p *amqp.Publisher, ms []*outbox.Message) ([]outbox.Result, time.Duration) {
	begin := time.Now()
	results := p.Publish(ctx, ms)
	return results, time.Since(begin)
}

func wantWithin(t *testing.T, what string, took, limit time.Duration) {
	t.Helper()
	if took > limit {
		t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// wantOnly fails the test if a result is none of allowed.
func wantOnly(t *testing.T, results []outbox.Result, allowed ...string) {
	t.Helper()
	rest := tally(results)
	for _, w := range allowed {
		delete(rest, w)
	}
	if len(rest) > 0 {
		t.Errorf("results %v, want only %v", tally(results), allowed)
	}
}

// ready waits until p gets a message through. Time limits that are short for the fault to come may pass before it on a
// machine that is busy.
func ready(t *testing.T, p *amqp.Publisher, exchange string) {
	t.Helper()
	eventually(t, 20*time.Second, func() bool {
		return p.Publish(within(t, time.Minute), messages(1, exchange, "placed"))[0].Accepted()
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()

	t.Run("answers_unavailable_at_once_while_the_broker_is_down_and_recovers", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		proxy.stop()
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		for range 3 {
			results, took := timed(within(t, time.Minute), p, messages(10, exchange, "placed"))
			wantTally(t, results, map[string]int{"unavailable": 10})
			wantWithin(t, "a call without a broker", took, time.Second)
		}
		proxy.start()
		ready(t, p, exchange)
	})

	t.Run("dials_seldom_while_the_broker_does_not_answer", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		proxy.cutAfter(0)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		var calls sync.WaitGroup
		ctx := within(t, time.Second)
		for range 4 {
			calls.Go(func() {
				for ctx.Err() == nil {
					p.Publish(ctx, messages(1, "some", "placed"))
				}
			})
		}
		calls.Wait()
		if got := proxy.dials(); got < 2 || got > 15 {
			t.Errorf("%d dials in a second of calls without pause, want a few", got)
		}
	})

	t.Run("tries_the_next_URL", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		away, there := newProxy(t), newProxy(t)
		away.stop()
		p := open(t, amqp.Config{URLs: []string{away.url, there.url}})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
		away.start()
		there.stop()
		ready(t, p, exchange)
	})

	t.Run("gives_up_a_handshake_that_hangs", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		proxy.freeze()
		p := open(t, amqp.Config{URLs: []string{proxy.url}, DialTimeout: 300 * time.Millisecond})
		results, took := timed(within(t, time.Minute), p, messages(2, "some", "placed"))
		wantTally(t, results, map[string]int{"unavailable": 2})
		wantWithin(t, "a frozen handshake", took, 3*time.Second)
	})

	t.Run("gives_up_a_lookup_that_hangs", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, DialTimeout: 300 * time.Millisecond})
		ready(t, p, exchange)
		proxy.freeze()
		results, took := timed(within(t, time.Minute), p, messages(2, b.exchange("topic"), "placed"))
		wantTally(t, results, map[string]int{"unavailable": 2})
		wantWithin(t, "a frozen lookup", took, 3*time.Second)
	})

	t.Run("leaves_no_connection_behind_when_it_cannot_log_in", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url + "?auth_mechanism=external"}})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, "some", "placed")), map[string]int{"unavailable": 1})
		if got := proxy.dials(); got != 1 {
			t.Errorf("%d dials, want 1", got)
		}
		eventually(t, 5*time.Second, func() bool { return proxy.live() == 0 })
	})

	t.Run("calls_unknown_what_was_sent_without_an_answer", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, ConfirmTimeout: 500 * time.Millisecond, Window: 20})
		ready(t, p, exchange)
		proxy.freeze()
		results, took := timed(within(t, time.Minute), p, messages(50, exchange, "placed"))
		wantTally(t, results, map[string]int{"unknown": 20, "unavailable": 30})
		wantWithin(t, "a frozen socket", took, 3*time.Second)
		proxy.thaw()
		ready(t, p, exchange)
	})

	t.Run("gives_up_a_write_that_hangs", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, WriteTimeout: 500 * time.Millisecond})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
		proxy.freeze()
		big := messages(30, exchange, "placed")
		for _, m := range big {
			m.Payload = bytes.Repeat([]byte{'x'}, 1<<20)
		}
		results, took := timed(within(t, time.Minute), p, big)
		wantOnly(t, results, "unknown", "unavailable")
		wantWithin(t, "a frozen write", took, 5*time.Second)
		proxy.thaw()
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
	})

	t.Run("gives_up_soon_after_the_context_has_ended", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, Window: 20})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
		proxy.freeze()
		results, took := timed(within(t, 200*time.Millisecond), p, messages(50, exchange, "placed"))
		wantOnly(t, results, "unknown", "no word")
		if n := tally(results)["unknown"]; n > 20 {
			t.Errorf("%d messages were handed over, the window is 20", n)
		}
		wantWithin(t, "a call whose context has ended", took, 3*time.Second)
	})

	t.Run("closes_within_its_bound_while_nothing_is_answered", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
		proxy.freeze()
		running := make(chan []outbox.Result, 1)
		go func() { running <- p.Publish(context.Background(), messages(10, exchange, "placed")) }()
		begin := time.Now()
		must(t, p.Close())
		wantWithin(t, "Close", time.Since(begin), 3*time.Second)
		wantOnly(t, <-running, "unknown", "no word", "unavailable")
		results, took := timed(within(t, time.Minute), p, messages(1, exchange, "placed"))
		wantTally(t, results, map[string]int{"unavailable": 1})
		wantWithin(t, "a call after Close", took, time.Second)
		proxy.thaw()
		eventually(t, 5*time.Second, func() bool { return proxy.live() == 0 })
	})
}

func TestAlarm(t *testing.T) {
	t.Parallel()

	t.Run("stops_handing_over_and_resumes_when_it_ends", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, ConfirmTimeout: 2 * time.Second, Window: 50})
		ready(t, p, exchange)
		proxy.alarm()
		wantTally(t, p.Publish(within(t, time.Minute), messages(200, exchange, "placed")),
			map[string]int{"unknown": 50, "unavailable": 150})
		for range 20 {
			results, took := timed(within(t, time.Minute), p, messages(200, exchange, "placed"))
			wantTally(t, results, map[string]int{"unavailable": 200})
			wantWithin(t, "a call under the alarm", took, time.Second)
		}
		if got := proxy.live(); got != 2 {
			t.Errorf("%d connections under the alarm, want 2", got)
		}
		proxy.clear()
		eventually(t, 5*time.Second, func() bool {
			return tally(p.Publish(within(t, time.Minute), messages(200, exchange, "placed")))["accepted"] == 200
		})
		eventually(t, 5*time.Second, func() bool { return proxy.live() == 2 })
	})

	t.Run("confirms_late_what_was_outstanding", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"accepted": 1})
		proxy.alarm()
		running := make(chan []outbox.Result, 1)
		go func() { running <- p.Publish(context.Background(), messages(10, exchange, "placed")) }()
		eventually(t, 5*time.Second, func() bool { return proxy.blocked() == 1 })
		proxy.clear()
		wantTally(t, <-running, map[string]int{"accepted": 10})
	})

	t.Run("does_not_keep_Close_from_its_bound", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, ConfirmTimeout: 100 * time.Millisecond})
		ready(t, p, exchange)
		proxy.alarm()
		wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"unknown": 1})
		begin := time.Now()
		must(t, p.Close())
		wantWithin(t, "Close under an alarm", time.Since(begin), 3*time.Second)
		proxy.clear()
		eventually(t, 5*time.Second, func() bool { return proxy.live() == 0 })
	})

	t.Run("is_probed_by_single_messages_once_the_connection_that_was_told_is_lost", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, ConfirmTimeout: 300 * time.Millisecond, Window: 20})
		ready(t, p, exchange)
		proxy.alarm()
		wantTally(t, p.Publish(within(t, time.Minute), messages(50, exchange, "placed")),
			map[string]int{"unknown": 20, "unavailable": 30})
		proxy.cut()
		for range 3 {
			eventually(t, 5*time.Second, func() bool {
				return tally(p.Publish(within(t, time.Minute), messages(50, exchange, "placed")))["unknown"] == 1
			})
			proxy.cut()
		}
		proxy.clear()
		eventually(t, 5*time.Second, func() bool {
			return tally(p.Publish(within(t, time.Minute), messages(50, exchange, "placed")))["accepted"] == 50
		})
	})

	t.Run("ends_for_us_with_the_connection_that_was_told", func(t *testing.T) {
		t.Parallel()
		b := connect(t)
		exchange, _ := b.bound()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}, ConfirmTimeout: 100 * time.Millisecond})
		for range 20 { // reconnects, each with listeners of its own
			ready(t, p, exchange)
			proxy.alarm()
			wantTally(t, p.Publish(within(t, time.Minute), messages(1, exchange, "placed")), map[string]int{"unknown": 1})
			proxy.clear()
			proxy.cut()
		}
	})
}
