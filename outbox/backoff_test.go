package outbox_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

// waits lets a relay be refused until its message is parked, and returns the waits that it asked for.
func waits(t *testing.T, id string, p outbox.Policy) (all []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s, b := newSpy(), new(broker)
		b.answer = refuse("1")
		enqueue(t, s.Store, message("a", "1"))
		stop := start(t, s, b, outbox.RelayConfig{ID: id, Policy: p})
		time.Sleep(time.Hour)
		wantStopped(t, stop)
		for _, outcomes := range s.settled {
			if outcomes[0].Verdict == outbox.Retry {
				all = append(all, outcomes[0].RetryIn)
			}
		}
	})
	return all
}

func TestRelay_backoff(t *testing.T) {
	t.Parallel()
	policy := outbox.Policy{MinBackoff: time.Second, MaxBackoff: 10 * time.Second, MaxAttempts: 8}

	t.Run("doubles_up_to_its_bound_and_varies_by_a_quarter_at_most", func(t *testing.T) {
		got := waits(t, "relay", policy)
		if len(got) != 7 {
			t.Fatalf("waited %v, want 7 times", got)
		}
		for n, low := range []time.Duration{1, 2, 4, 8, 8, 8, 8} {
			low *= time.Second
			if top := min(low*5/4, policy.MaxBackoff); got[n] < low || got[n] > top {
				t.Errorf("wait %d is %v, want between %v and %v", n+1, got[n], low, top)
			}
		}
	})
	t.Run("is_repeatable_for_one_relay_and_out_of_step_for_two", func(t *testing.T) {
		first, again, other := waits(t, "relay", policy), waits(t, "relay", policy), waits(t, "another", policy)
		if d := cmp.Diff(first, again); d != "" {
			t.Errorf("the same relay waits otherwise: %s", d)
		}
		if slices.Equal(first, other) {
			t.Errorf("two relays wait in step: %v", other)
		}
	})
	t.Run("varies_at_its_bound", func(t *testing.T) {
		got := waits(t, "relay", policy)
		if got[4] == got[5] && got[5] == got[6] {
			t.Errorf("waited %v, want waits at the bound that differ", got)
		}
	})
	t.Run("of_sessions_that_end_at_once_grows", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			s.onAcquire = func() error { return outbox.ErrSessionEnded }
			stop := start(t, s, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			if n := len(s.acquired); n < 5 || n > 30 {
				t.Errorf("began %d sessions in a minute, want a few", n)
			}
		})
	})
	t.Run("of_an_outage_is_not_shortened_by_commits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			b.answer = func(*outbox.Message) outbox.Result { return outbox.Failed(outbox.Unavailable(errFault)) }
			stop := start(t, s, b, outbox.RelayConfig{})
			for _, n := range numbers(6000) {
				enqueue(t, s.Store, message(n, n))
				time.Sleep(10 * time.Millisecond)
			}
			wantStopped(t, stop)
			if n := len(b.calls); n > 60 {
				t.Errorf("asked a publisher that is down %d times in a minute of commits", n)
			}
		})
	})
	t.Run("of_a_failing_store_is_not_shortened_by_wakes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			s.onAcquire = func() error { return errFault }
			stop := start(t, s, new(broker), outbox.RelayConfig{})
			for range 6000 {
				enqueue(t, s.Store, message("a", "1"))
				time.Sleep(10 * time.Millisecond)
			}
			wantStopped(t, stop)
			if n := len(s.acquired); n > 60 {
				t.Errorf("asked a store that fails %d times in a minute", n)
			}
		})
	})
}

func TestRelay_logs(t *testing.T) {
	t.Parallel()
	t.Run("name_a_message_that_failed_and_show_nothing_of_its_content", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			b.answer = refuse("secret body")
			m := message("secret key", "secret body")
			m.Headers = []outbox.Header{{Name: "token", Value: "secret header"}}
			enqueue(t, s.Store, m)
			config := outbox.RelayConfig{Policy: outbox.Policy{MaxAttempts: 2}}
			text := logged(t, s, b, config, func() { time.Sleep(time.Minute) })
			for _, want := range []string{"message was refused", "message was parked", m.ID.String(), "failures=2"} {
				if !strings.Contains(text, want) {
					t.Errorf("the log lacks %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, "secret") {
				t.Errorf("the log shows content:\n%s", text)
			}
		})
	})
	t.Run("say_once_that_messages_of_a_topic_wait_until_one_of_them_arrives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			missing := true
			b.answer = func(*outbox.Message) outbox.Result { // under b.mu
				if missing {
					return outbox.Failed(outbox.RetryAfter(time.Second, errFault))
				}
				return outbox.Accepted
			}
			turn := func(to bool) {
				b.mu.Lock()
				defer b.mu.Unlock()
				missing = to
			}
			text := logged(t, s, b, outbox.RelayConfig{Workers: 1}, func() {
				for range 2 {
					turn(true)
					enqueue(t, s.Store, message("a", "1"), message("b", "2"))
					time.Sleep(time.Minute)
					turn(false)
					time.Sleep(time.Minute)
				}
			})
			const want = `level=WARN msg="outbox: messages of a topic wait and are tried again"`
			if n := strings.Count(text, want); n != 2 || !strings.Contains(text, "class=retry_after") {
				t.Errorf("said it %d times, want once and again after a delivery:\n%s", n, text)
			}
		})
	})
	t.Run("leave_an_outage_to_the_breaker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			b.answer = func(*outbox.Message) outbox.Result { return outbox.Failed(outbox.Unavailable(errFault)) }
			enqueue(t, s.Store, message("a", "1"))
			text := logged(t, s, b, outbox.RelayConfig{}, func() { time.Sleep(time.Minute) })
			if strings.Count(text, "publisher is unavailable") != 1 || strings.Contains(text, "of a topic wait") {
				t.Errorf("want one line about the outage:\n%s", text)
			}
		})
	})
}

// logged is what a relay logs while during runs.
func logged(t *testing.T, s outbox.Store, b *broker, config outbox.RelayConfig, during func()) string {
	t.Helper()
	var text bytes.Buffer
	config.Logger = slog.New(slog.NewTextHandler(&text, nil))
	r, err := outbox.NewRelay(s, b, config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := contextOf(t)
	go func() { ended <- r.Run(ctx) }()
	during()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return text.String()
}
