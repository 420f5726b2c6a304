package outbox_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// forgetful is a publisher that accepts everything and keeps nothing of it alive.
type forgetful struct {
	seen    int
	payload weak.Pointer[byte] // of the last message
}

func (f *forgetful) Publish(_ context.Context, messages []*outbox.Message) []outbox.Result {
	results := make([]outbox.Result, len(messages))
	for i, m := range messages {
		f.seen++
		f.payload, results[i] = weak.Make(&m.Payload[0]), outbox.Accepted
	}
	return results
}

func TestRelay_idle(t *testing.T) {
	t.Parallel()
	t.Run("asks_once_a_poll_for_all_lanes_together", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSpy()
			stop := start(t, s, new(broker), outbox.RelayConfig{Poll: time.Second, Renew: 5 * time.Second})
			time.Sleep(time.Minute)
			s.note(func() { s.asked = nil })
			time.Sleep(time.Hour)
			wantStopped(t, stop)
			if n := len(s.asked); n > 3600*10/9+50 { // each 0.8 to 1 s, and none after a round that changed nothing
				t.Errorf("asked %d times in an hour", n)
			}
			for _, r := range s.asked {
				if len(r.Lanes) != 64 || r.Worker != 0 {
					t.Fatalf("worker %d asked for %d lanes, want one question for all 64", r.Worker, len(r.Lanes))
				}
			}
		})
	})
	t.Run("asks_nothing_without_a_lane", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			shared := memstore.New(memstore.Config{Lanes: 1})
			stop := start(t, shared, new(broker), outbox.RelayConfig{})
			time.Sleep(time.Second)
			s, b := &spy{Store: shared}, new(broker)
			stopOther := start(t, s, b, outbox.RelayConfig{})
			for _, n := range numbers(100) {
				enqueue(t, shared, message("a", n))
				time.Sleep(time.Second)
			}
			wantStopped(t, stopOther)
			wantStopped(t, stop)
			if n := len(s.asked); n != 0 {
				t.Errorf("claimed %d times without a lane", n)
			}
		})
	})
	t.Run("a_single_message_costs_one_claim_and_one_settle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), new(broker)
			stop := start(t, s, b, outbox.RelayConfig{})
			time.Sleep(time.Minute + time.Millisecond)
			s.note(func() { s.asked = nil })
			for range 100 { // two poll in between, at most
				enqueue(t, s.Store, message("a", "1"))
				time.Sleep(time.Millisecond)
			}
			s.note(func() {
				if len(s.asked) > 102 || len(s.settled) != 100 {
					t.Errorf("100 messages took %d claims and %d settles, want 100 of each", len(s.asked), len(s.settled))
				}
			})
			wantStopped(t, stop)
		})
	})
	t.Run("holds_no_payload_that_is_settled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := newSpy(), new(forgetful)
			stop := start(t, s, p, outbox.RelayConfig{})
			enqueue(t, s.Store, message("a", strings.Repeat("x", 1000)))
			time.Sleep(time.Minute)
			synctest.Wait()
			s.note(func() { s.settled = nil })
			runtime.GC()
			if p.seen != 1 || p.payload.Value() != nil {
				t.Errorf("of %d messages published a payload is still held", p.seen)
			}
			wantStopped(t, stop)
		})
	})
	for name, s := range map[string]func(*memstore.Store) outbox.Store{
		"polls_where_nobody_tells_of_commits": func(s *memstore.Store) outbox.Store {
			return struct {
				outbox.Store
				outbox.LaneRenewer
			}{s, s}
		},
		"polls_when_the_channel_of_commits_has_closed": func(s *memstore.Store) outbox.Store { return &deaf{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared, b := memstore.New(memstore.Config{}), new(broker)
				stop := start(t, s(shared), b, outbox.RelayConfig{})
				time.Sleep(time.Minute + 1500*time.Millisecond) // between two rounds of rebalancing
				enqueue(t, shared, message("a", "1"))
				time.Sleep(time.Second)
				if d := cmp.Diff([]string{"1"}, b.got("a")); d != "" {
					t.Errorf("a poll after the commit: %s", d)
				}
				wantStopped(t, stop)
			})
		})
	}
}

// deaf is a store whose word of commits breaks off at once.
type deaf struct{ *memstore.Store }

func (*deaf) Wake(context.Context) <-chan []int {
	news := make(chan []int)
	close(news)
	return news
}
