package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

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
