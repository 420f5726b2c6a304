package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// broker is a publisher that records what it accepted, and answers as it is told.
type broker struct {
	mu       sync.Mutex
	ordered  bool
	answer   func(m *outbox.Message) outbox.Result // nil accepts
	pause    time.Duration                         // of each call
	accepted []*outbox.Message
	calls    [][]string // payloads
}

func (b *broker) KeyOrdered() bool { return b.ordered }

func (b *broker) Publish(ctx context.Context, messages []*outbox.Message) []outbox.Result {
	if b.pause > 0 {
		time.Sleep(b.pause)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	results := make([]outbox.Result, len(messages))
	var call []string
	failed := make(map[string]bool)
	for i, m := range messages {
		call = append(call, string(m.Payload))
		if b.ordered && m.Key != "" && failed[m.Key+m.Topic] {
			continue
		}
		results[i] = outbox.Accepted
		if b.answer != nil {
			results[i] = b.answer(m)
		}
		if results[i].Accepted() {
			b.accepted = append(b.accepted, m)
		} else {
			failed[m.Key+m.Topic] = true
		}
	}
	b.calls = append(b.calls, call)
	return results
}

// got returns the payloads of one key in the order of acceptance, or of all for "".
func (b *broker) got(key string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, m := range b.accepted {
		if key == "" || m.Key == key {
			got = append(got, string(m.Payload))
		}
	}
	return got
}

func message(key, payload string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: key, Payload: []byte(payload)}
}

func enqueue(t *testing.T, s *memstore.Store, messages ...*outbox.Message) {
	t.Helper()
	err := s.InTransaction(t.Context(), func(ctx context.Context) error { return s.Enqueue(ctx, messages...) })
	if err != nil {
		t.Fatal(err)
	}
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// start runs a relay until the returned function stops it, which returns what Run returned.
func start(t *testing.T, s outbox.Store, p outbox.Publisher, config outbox.RelayConfig) (stop func() error) {
	t.Helper()
	config.Logger = quiet
	relay, err := outbox.NewRelay(s, p, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func wantStopped(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Errorf("Run: got %v, want nil", err)
	}
}

func numbers(n int) []string {
	var ns []string
	for i := range n {
		ns = append(ns, fmt.Sprint(i))
	}
	return ns
}

func TestRelay(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{true, false} {
		t.Run(fmt.Sprintf("delivers_each_message_once_and_in_order_of_its_key/key_ordered=%t", ordered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := memstore.New(memstore.Config{}), &broker{ordered: ordered}
				stop := start(t, s, b, outbox.RelayConfig{})
				for _, n := range numbers(2000) {
					enqueue(t, s, message("a", n), message("b"+n, n), message("", n))
				}
				time.Sleep(time.Minute)
				wantStopped(t, stop)
				if got := len(b.got("")); got != 6000 {
					t.Errorf("accepted %d messages, want 6000", got)
				}
				if d := cmp.Diff(numbers(2000), b.got("a")); d != "" {
					t.Error(d)
				}
				if n := s.Pending(); n != 0 {
					t.Errorf("%d messages are left", n)
				}
			})
		})
	}

	t.Run("takes_a_single_message_at_once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute + 1500*time.Millisecond) // between two polls
			enqueue(t, s, message("a", "1"))
			synctest.Wait()
			if got := b.got("a"); len(got) != 1 {
				t.Errorf("got %v without any time passing, want the message", got)
			}
			wantStopped(t, stop)
		})
	})

	for _, ordered := range []bool{true, false} {
		t.Run(fmt.Sprintf("holds_the_key_behind_a_failed_message_and_no_other/key_ordered=%t", ordered), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refusals := 3
				s, b := memstore.New(memstore.Config{}), &broker{ordered: ordered}
				b.answer = func(m *outbox.Message) outbox.Result {
					if string(m.Payload) == "bad" && refusals > 0 {
						refusals--
						return outbox.Failed(errors.New("not now"))
					}
					return outbox.Accepted
				}
				enqueue(t, s, message("a", "1"), message("a", "bad"), message("a", "3"), message("b", "1"))
				stop := start(t, s, b, outbox.RelayConfig{})
				synctest.Wait()
				time.Sleep(10 * time.Millisecond)
				if d := cmp.Diff([]string{"1"}, b.got("a")); d != "" {
					t.Errorf("while the second waits: %s", d)
				}
				if d := cmp.Diff([]string{"1"}, b.got("b")); d != "" {
					t.Error(d)
				}
				time.Sleep(time.Minute)
				wantStopped(t, stop)
				if d := cmp.Diff([]string{"1", "bad", "3"}, b.got("a")); d != "" {
					t.Error(d)
				}
			})
		})
	}

	t.Run("parks_a_message_for_good_after_its_last_attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			s, b := memstore.New(memstore.Config{}), new(broker)
			b.answer = func(m *outbox.Message) outbox.Result {
				if m.Key == "a" {
					tries++
					return outbox.Failed(errors.New("never"))
				}
				return outbox.Accepted
			}
			enqueue(t, s, message("a", "1"), message("a", "2"), message("b", "1"))
			stop := start(t, s, b, outbox.RelayConfig{Policy: outbox.Policy{MaxAttempts: 4}})
			time.Sleep(time.Hour)
			wantStopped(t, stop)
			if tries != 4 {
				t.Errorf("tried %d times, want 4", tries)
			}
			if got := b.got("a"); got != nil {
				t.Errorf("the key went on with %v behind a parked message", got)
			}
		})
	})

	t.Run("parks_a_permanent_failure_at_once_and_skips_it_where_the_policy_says_so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			b.answer = func(m *outbox.Message) outbox.Result {
				if string(m.Payload) == "bad" {
					return outbox.Failed(outbox.Permanent(errors.New("too large")))
				}
				return outbox.Accepted
			}
			enqueue(t, s, message("a", "bad"), message("a", "2"))
			stop := start(t, s, b, outbox.RelayConfig{Topics: map[string]outbox.Policy{"orders": {OnExhausted: outbox.Skip}}})
			time.Sleep(time.Second)
			wantStopped(t, stop)
			if d := cmp.Diff([]string{"2"}, b.got("a")); d != "" {
				t.Error(d)
			}
		})
	})

	t.Run("ends_with_ExhaustedError_where_the_policy_is_Stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			b.answer = func(*outbox.Message) outbox.Result { return outbox.Failed(errors.New("never")) }
			m := message("a", "1")
			enqueue(t, s, m)
			for range 2 { // a restart finds it again
				stop := start(t, s, b, outbox.RelayConfig{Policy: outbox.Policy{OnExhausted: outbox.Stop, MaxAttempts: 2}})
				time.Sleep(time.Hour)
				err := stop()
				if x, ok := errors.AsType[*outbox.ExhaustedError](err); !ok || x.ID != m.ID {
					t.Errorf("Run: got %v, want an *ExhaustedError of %s", err, m.ID)
				}
			}
		})
	})

	for _, fault := range []struct {
		name string
		mark func(error) error
	}{{"unavailable", outbox.Unavailable}, {"unknown", outbox.Unknown}} {
		t.Run("parks_nothing_in_a_long_outage/"+fault.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				down, calls := true, 0
				s, b := memstore.New(memstore.Config{}), new(broker)
				b.answer = func(*outbox.Message) outbox.Result {
					calls++
					if down {
						return outbox.Failed(fault.mark(errors.New("gone")))
					}
					return outbox.Accepted
				}
				stop := start(t, s, b, outbox.RelayConfig{})
				for _, n := range numbers(1000) {
					enqueue(t, s, message("a", n), message("", n))
				}
				time.Sleep(2 * time.Hour)
				b.mu.Lock()
				if calls > 2*60*60 {
					t.Errorf("asked a publisher that is down %d times in two hours", calls)
				}
				down = false
				b.mu.Unlock()
				time.Sleep(time.Minute)
				wantStopped(t, stop)
				if d := cmp.Diff(numbers(1000), b.got("a")); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func TestRelay_order(t *testing.T) {
	t.Parallel()
	t.Run("hands_one_message_of_a_key_at_a_time_to_a_publisher_that_keeps_no_order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			enqueue(t, s, message("a", "a1"), message("a", "a2"), message("b", "b1"), message("", "x"), message("", "y"))
			stop := start(t, s, b, outbox.RelayConfig{})
			synctest.Wait()
			wantStopped(t, stop)
			if d := cmp.Diff([][]string{{"a1", "b1", "x", "y"}, {"a2"}}, b.calls); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("cuts_a_claim_where_a_key_changes_its_topic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), &broker{ordered: true}
			other := message("a", "a3")
			other.Topic = "invoices"
			enqueue(t, s, message("a", "a1"), message("a", "a2"), other, message("a", "a4"))
			stop := start(t, s, b, outbox.RelayConfig{})
			synctest.Wait()
			wantStopped(t, stop)
			if d := cmp.Diff([][]string{{"a1", "a2"}, {"a3"}, {"a4"}}, b.calls); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("pipelined_hands_over_the_whole_claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			enqueue(t, s, message("a", "a1"), message("a", "a2"))
			stop := start(t, s, b, outbox.RelayConfig{Mode: outbox.Pipelined})
			synctest.Wait()
			wantStopped(t, stop)
			if d := cmp.Diff([][]string{{"a1", "a2"}}, b.calls); d != "" {
				t.Error(d)
			}
		})
	})
}

func TestRelay_several(t *testing.T) {
	t.Parallel()
	t.Run("relays_share_the_lanes_and_each_message_goes_out_once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New(memstore.Config{})
			brokers := []*broker{{pause: time.Millisecond}, {pause: time.Millisecond}, {pause: time.Millisecond}}
			var stops []func() error
			for _, b := range brokers {
				stops = append(stops, start(t, s, b, outbox.RelayConfig{}))
			}
			time.Sleep(time.Minute) // until the shares have settled
			want := make(map[string]bool)
			for _, n := range numbers(3000) {
				want[n] = true
				enqueue(t, s, message("k"+n[len(n)-1:], n))
			}
			time.Sleep(time.Minute)
			got := make(map[string]bool)
			for i, b := range brokers {
				wantStopped(t, stops[i])
				if len(b.got("")) == 0 {
					t.Errorf("relay %d published nothing", i)
				}
				for _, p := range b.got("") {
					if got[p] {
						t.Errorf("%s went out twice", p)
					}
					got[p] = true
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	})
	t.Run("a_peer_takes_over_after_the_lease_of_a_dead_one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, dead, b := memstore.New(memstore.Config{}), &broker{pause: 1000 * time.Hour}, new(broker)
			stuck := start(t, s, dead, outbox.RelayConfig{StopTimeout: time.Second})
			time.Sleep(time.Second)
			enqueue(t, s, message("a", "1"), message("a", "2"))
			synctest.Wait() // claimed, and in a publish that does not come back
			if err := stuck(); err == nil {
				t.Error("Run of a relay that had to leave a publish behind returned nil")
			}
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(16 * time.Second)
			if d := cmp.Diff([]string{"1", "2"}, b.got("a")); d != "" {
				t.Errorf("a second after the lease: %s", d)
			}
			wantStopped(t, stop)
			time.Sleep(1000 * time.Hour) // the publish that was left behind ends
		})
	})
	t.Run("a_peer_takes_over_at_once_after_a_stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), new(broker)
			stop, stopPeer := start(t, s, new(broker), outbox.RelayConfig{}), start(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute)
			wantStopped(t, stop)
			for _, n := range numbers(100) {
				enqueue(t, s, message(n, n))
			}
			time.Sleep(time.Second)
			if got := len(b.got("")); got != 100 {
				t.Errorf("got %d of 100 messages a second after the stop", got)
			}
			wantStopped(t, stopPeer)
		})
	})
	t.Run("a_stop_in_the_middle_settles_what_was_accepted_and_releases_the_rest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := memstore.New(memstore.Config{}), &broker{pause: 100 * time.Millisecond}
			for _, n := range numbers(10) {
				enqueue(t, s, message("a", n))
			}
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(250 * time.Millisecond)
			wantStopped(t, stop)
			first := len(b.got("a"))
			if first == 0 || first == 10 {
				t.Fatalf("stopped after %d of 10, want in the middle", first)
			}
			stop = start(t, s, b, outbox.RelayConfig{})
			time.Sleep(5 * time.Second)
			wantStopped(t, stop)
			if d := cmp.Diff(numbers(10), b.got("a")); d != "" {
				t.Error(d)
			}
		})
	})
}

func TestNewRelay(t *testing.T) {
	t.Parallel()
	s, b := memstore.New(memstore.Config{}), new(broker)
	for name, config := range map[string]outbox.RelayConfig{
		"Workers":                   {Workers: 65},
		"Batch":                     {Batch: 10_001},
		"Renew":                     {Lease: 10 * time.Second, Renew: 6 * time.Second},
		"Poll":                      {Poll: 61 * time.Second},
		"StopTimeout":               {StopTimeout: -1},
		"Policy.MinBackoff":         {Policy: outbox.Policy{MinBackoff: 61 * time.Second}},
		"Topics[\"x\"].MaxAttempts": {Topics: map[string]outbox.Policy{"x": {MaxAttempts: -1}}},
	} {
		t.Run("refuses_"+name+"_outside_its_bounds", func(t *testing.T) {
			t.Parallel()
			_, err := outbox.NewRelay(s, b, config)
			if f, ok := errors.AsType[*outbox.FieldError](err); !ok || f.Field != name {
				t.Errorf("got %v, want a *FieldError of %s", err, name)
			}
		})
	}
	t.Run("asks_for_MaxPublishDuration_where_lanes_cannot_be_renewed", func(t *testing.T) {
		t.Parallel()
		old := struct{ outbox.Store }{s}
		_, err := outbox.NewRelay(old, b, outbox.RelayConfig{})
		if f, ok := errors.AsType[*outbox.FieldError](err); !ok || f.Field != "MaxPublishDuration" {
			t.Errorf("got %v, want a *FieldError", err)
		}
		config := outbox.RelayConfig{Lease: 30 * time.Second, Renew: 10 * time.Second, MaxPublishDuration: 20 * time.Second}
		if _, err := outbox.NewRelay(old, b, config); err == nil {
			t.Error("accepted a publish as long as the lease allows to go without a renewal")
		}
		config.MaxPublishDuration--
		if _, err := outbox.NewRelay(old, b, config); err != nil {
			t.Error(err)
		}
	})
}
