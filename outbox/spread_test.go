package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
)

// slow takes longer for a call than the next news takes to come.
func slow() *broker { return &broker{ordered: true, pause: 5 * time.Millisecond} }

// Whoever looks everywhere and finds something must not go on looking everywhere for that alone: under a steady stream
// there is always something.
func TestRelay_steady_stream(t *testing.T) {
	t.Parallel()
	t.Run("that_is_told_of_is_followed_lane_by_lane", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTold(64)
			s.lag = time.Millisecond
			stop := start(t, s, slow(), outbox.RelayConfig{})
			stopTalk := s.talk(t, numbers(8)...)
			time.Sleep(10 * time.Second)
			asked := s.since(t, func() { time.Sleep(10 * time.Second) })
			full := 0
			for _, n := range widths(asked) {
				if n == 64 {
					full++
				}
			}
			if full == 0 || full > 13 { // each 0.8 to 1 s
				t.Errorf("looked into all lanes %d times in 10 s, want 10 to 13", full)
			}
			stopTalk()
			wantStopped(t, stop)
		})
	})
	t.Run("that_nobody_tells_of_is_followed_without_a_pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b, late := newTold(64), slow(), 0
			committed := map[string]time.Time{}
			b.answer = func(m *outbox.Message) outbox.Result {
				if time.Since(committed[m.Key]) > 2*b.pause { // for the call that ran, and its own
					late++
				}
				return outbox.Accepted
			}
			stop := start(t, s, b, outbox.RelayConfig{})
			for _, key := range numbers(2_000) {
				b.mu.Lock()
				committed[key] = time.Now()
				b.mu.Unlock()
				enqueue(t, s.Store, message(key, "x"))
				time.Sleep(2 * time.Millisecond)
			}
			time.Sleep(time.Second)
			if n := len(b.got("")); n != 2_000 || late > 500 { // those before the first look, which is within a second
				t.Errorf("accepted %d messages, %d of them late, want 2000, and no more late than wait for a poll", n, late)
			}
			wantStopped(t, stop)
		})
	})
}

func TestRelay_spread(t *testing.T) {
	t.Parallel()
	t.Run("ends_when_claims_are_small_again_though_news_goes_on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newTold(64), slow()
			b.pause *= 4 // so that no worker ever has to wait for news
			stop := start(t, s, b, outbox.RelayConfig{})
			stopTalk := s.talk(t, numbers(8)...)
			time.Sleep(time.Second)
			burst := s.since(t, func() {
				for _, key := range numbers(400) {
					enqueue(t, s.Store, message(key, "x"))
				}
				time.Sleep(2 * time.Second)
			})
			if alone(burst) {
				t.Error("one worker made all claims of a burst, want several")
			}
			if after := s.since(t, func() { time.Sleep(time.Second) }); !alone(after) {
				t.Error("several workers claimed when the burst was over, want one")
			}
			stopTalk()
			wantStopped(t, stop)
		})
	})
	t.Run("leaves_the_lanes_of_others_alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTold(64)
			hot, loud := lane("hot")%4, lane("loud")%4
			if hot == loud {
				t.Fatal("both keys belong to one worker: choose others")
			}
			enqueue(t, s.Store, many("hot", 10_000)...) // for three seconds
			stop := start(t, s, slow(), outbox.RelayConfig{Batch: 16})
			stopTalk := s.talk(t, "loud")
			time.Sleep(time.Second)
			claims := map[int]int{}
			for _, r := range s.since(t, func() { time.Sleep(time.Second) }) {
				claims[r.Worker]++
			}
			for worker := range 4 {
				busy := worker == hot || worker == loud
				if n := claims[worker]; busy && n < 100 || !busy && n > 2 { // each 0.8 to 1 s
					t.Errorf("worker %d of %d (hot) and %d (loud) claimed %d times in a second", worker, hot, loud, n)
				}
			}
			stopTalk()
			wantStopped(t, stop)
		})
	})
}

// alone reports whether one worker asked for everything.
func alone(asked []outbox.ClaimRequest) bool {
	for _, r := range asked {
		if r.Worker != asked[0].Worker {
			return false
		}
	}
	return true
}
