package outbox_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

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
