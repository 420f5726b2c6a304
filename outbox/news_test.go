package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

// told is a store of which a relay hears what the test says, and nothing else.
type told struct {
	*spy
	news chan []int
	lag  time.Duration // of the news of talk behind its commits
}

func newTold(lanes int) *told {
	return &told{spy: &spy{Store: memstore.New(memstore.Config{Lanes: lanes})}, news: make(chan []int)}
}

func (s *told) Wake(ctx context.Context) <-chan []int {
	context.AfterFunc(ctx, func() { close(s.news) })
	return s.news
}

// since returns what was asked after the time that a test began to look.
func (s *spy) since(t *testing.T, look func()) (asked []outbox.ClaimRequest) {
	t.Helper()
	s.note(func() { s.asked = nil })
	look()
	synctest.Wait()
	s.note(func() { asked = s.asked })
	return asked
}

func lane(key string) int { return outbox.LaneOf(message(key, ""), 64) }

// widths are the numbers of lanes that were asked for.
func widths(asked []outbox.ClaimRequest) (ns []int) {
	for _, r := range asked {
		ns = append(ns, len(r.Lanes))
	}
	return ns
}

// seldom is a relay that looks at all lanes a few times and then leaves it for about a minute; its label decides when.
var seldom = outbox.RelayConfig{ID: "seldom", Poll: time.Minute}

func settleDown() { time.Sleep(time.Hour + time.Second) } // between two rounds and polls

func TestRelay_news(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		news []int
		want []int // lanes of each claim
	}{
		"of_a_lane_is_looked_for_there_only":     {news: []int{7}, want: []int{1}},
		"of_several_lanes_takes_one_claim":       {news: []int{3, 5, 7}, want: []int{3}},
		"of_any_lane_is_looked_for_in_all":       {news: nil, want: []int{64}},
		"of_lanes_that_are_not_held_costs_none":  {news: []int{64, 65}, want: nil},
		"of_lanes_that_are_held_leaves_the_rest": {news: []int{63, 64}, want: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTold(64)
				stop := start(t, s, new(broker), seldom)
				settleDown()
				asked := s.since(t, func() { s.news <- tc.news })
				if d := cmp.Diff(tc.want, widths(asked)); d != "" {
					t.Error(d)
				}
				wantStopped(t, stop)
			})
		})
	}
	t.Run("that_comes_while_a_claim_is_out_is_looked_for_once_after_it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := newSpy(), &broker{pause: time.Second}
			stop := start(t, s, b, seldom)
			settleDown()
			asked := s.since(t, func() {
				enqueue(t, s.Store, message("a", "1"))
				time.Sleep(time.Second / 2)
				enqueue(t, s.Store, message("b", "1"), message("c", "1"))
				enqueue(t, s.Store, message("a", "2"))
				time.Sleep(2 * time.Second)
			})
			if d := cmp.Diff([]int{1, 3}, widths(asked)); d != "" {
				t.Error(d)
			}
			if n := len(b.got("")); n != 4 {
				t.Errorf("accepted %d messages, want 4", n)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("of_lanes_that_are_only_being_acquired_is_looked_for_once_they_are", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
			s.acquire = takes(time.Second) // the store has given the lanes, and the relay does not know yet
			stop := start(t, s, b, seldom)
			time.Sleep(time.Second / 2)
			enqueue(t, s.Store, message("a", "1"))
			time.Sleep(time.Second / 2)
			synctest.Wait()
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Errorf("when the lanes had come: %s", d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("is_not_lost_with_a_claim_that_had_no_answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, b := &scripted{Store: memstore.New(memstore.Config{})}, new(broker)
			s.claim = func(n int) (time.Duration, error) { return 0, map[bool]error{true: errFault}[n == 1] }
			stop := start(t, s, b, seldom)
			settleDown()
			enqueue(t, s.Store, message("a", "1"))
			time.Sleep(time.Second)
			if d := cmp.Diff([]string{"1"}, b.got("")); d != "" {
				t.Errorf("a second after the claim: %s", d)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("of_which_suspects_are_seen_gives_them_their_turn_at_once_and_goes_on_when_they_are_gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTold(64)
			s.onClaim = func(c *outbox.Claim) { c.Suspects = true }
			stop := start(t, s, new(broker), seldom)
			settleDown()
			enqueue(t, s.Store, message("a", "1"))
			asked := s.since(t, func() { s.news <- []int{lane("a")} })
			if d := cmp.Diff([]int{1, 64, 64}, widths(asked)); d != "" {
				t.Fatal(d)
			}
			if asked[0].Suspect || !asked[1].Suspect || asked[2].Suspect {
				t.Errorf("asked %+v, want the second claim for suspects", asked)
			}
			wantStopped(t, stop)
		})
	})
	t.Run("that_a_store_could_not_follow_is_followed_soon", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTold(64)
			s.onAnswer = func(c *outbox.Claim) { c.Dry = false }
			stop := start(t, s, new(broker), seldom)
			settleDown()
			asked := s.since(t, func() { s.news <- []int{7}; time.Sleep(time.Minute / 16) })
			if d := cmp.Diff([]int{1, 64}, widths(asked)); d != "" {
				t.Error(d)
			}
			wantStopped(t, stop)
		})
	})
}

// Under news that never ends, a relay polls as it would without.
func TestRelay_steady_news(t *testing.T) {
	t.Parallel()
	bad := func(m *outbox.Message) bool { return string(m.Payload) == "bad" }
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, s *told)
		within  time.Duration
		want    []string
	}{
		"do_not_hide_a_commit_that_nobody_tells_of": {
			prepare: func(t *testing.T, s *told) { enqueue(t, s.Store, message("quiet", "1")) },
			within:  time.Second, want: []string{"1"},
		},
		"do_not_hold_up_a_message_that_is_due_again": {
			prepare: func(t *testing.T, s *told) {
				enqueue(t, s.Store, message("quiet", "bad"))
				s.news <- []int{lane("quiet")}
			},
			within: 250 * time.Millisecond, // of which it waits for 100, and looks after 50 and 150 more at most
			want:   []string{"bad"},
		},
		"do_not_hold_up_a_message_behind_one_that_is_due_again": {
			prepare: func(t *testing.T, s *told) {
				enqueue(t, s.Store, message("quiet", "bad"), message("quiet", "1"))
				s.news <- []int{lane("quiet")}
			},
			within: 250 * time.Millisecond, want: []string{"bad", "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b, refusals := newTold(64), &broker{ordered: true}, 1
				b.answer = func(m *outbox.Message) outbox.Result {
					if bad(m) && refusals > 0 {
						refusals--
						return outbox.Failed(errors.New("not now"))
					}
					return outbox.Accepted
				}
				policy := outbox.Policy{MinBackoff: 100 * time.Millisecond, MaxBackoff: 100 * time.Millisecond}
				stop := start(t, s, b, outbox.RelayConfig{Policy: policy})
				stopTalk := s.talk(t, "loud")
				time.Sleep(10 * time.Second)
				s.note(func() { s.asked = nil })
				tc.prepare(t, s)
				time.Sleep(tc.within)
				if d := cmp.Diff(tc.want, b.got("quiet")); d != "" {
					t.Errorf("after %v: %s", tc.within, d)
				}
				stopTalk()
				wantStopped(t, stop)
				full := 0
				for _, r := range s.asked {
					if len(r.Lanes) == 64 {
						full++
					}
				}
				// A twentieth of the poll lies between two looks at least, and one that finds something is followed by another.
				if most := 2 * int(tc.within/(time.Second/20)); full > most {
					t.Errorf("looked into all lanes %d times in %v, want %d at most", full, tc.within, most)
				}
			})
		})
	}
}

func TestRelay_suspects_and_news(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, p := newTold(64), new(perMessage)
		for i := range 100 {
			enqueue(t, s.Store, message(fmt.Sprint(i), "x"))
		}
		crash(t, s.Store, 100)
		stop := start(t, s, p, outbox.RelayConfig{})
		stopTalk := s.talk(t, "loud")
		time.Sleep(2 * time.Second)
		p.mu.Lock()
		if p.single < 100 {
			t.Errorf("published %d messages alone in two seconds beside the news, want the 100 suspects", p.single)
		}
		p.mu.Unlock()
		stopTalk()
		wantStopped(t, stop)
	})
}

// talk commits a message every two milliseconds, of each of keys in turn, and tells of it after lag.
func (s *told) talk(t *testing.T, keys ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			key := keys[n%len(keys)]
			enqueue(t, s.Store, message(key, "x"))
			time.Sleep(s.lag)
			s.news <- []int{lane(key)}
			time.Sleep(2*time.Millisecond - s.lag)
		}
	}()
	return func() { cancel(); <-done }
}

// What a claim for news leaves behind goes on at once: no time passes.
func TestRelay_news_goes_on(t *testing.T) {
	t.Parallel()
	skip := seldom
	skip.Policy = outbox.Policy{OnExhausted: outbox.Skip}
	small, short := seldom, seldom
	small.BatchBytes = 10
	short.Batch, short.Workers = 8, 1
	quick := seldom
	quick.Policy = outbox.Policy{MinBackoff: time.Second, MaxBackoff: time.Second}
	for name, tc := range map[string]struct {
		config outbox.RelayConfig
		broker *broker
		commit func(t *testing.T, s *memstore.Store)
		want   int
	}{
		"past_the_bound_of_a_key": {config: seldom, broker: new(broker), commit: func(t *testing.T, s *memstore.Store) {
			enqueue(t, s, many("a", 20)...)
		}, want: 20},
		"past_the_bound_of_bytes": {config: small, broker: new(broker), commit: func(t *testing.T, s *memstore.Store) {
			enqueue(t, s, message("a", "1"), message("b", "0123456789"), message("c", "0123456789"))
		}, want: 3},
		"past_the_size_of_a_batch": {config: short, broker: new(broker), commit: func(t *testing.T, s *memstore.Store) {
			for i := range 20 {
				enqueue(t, s, message(fmt.Sprint(i), "1"))
			}
		}, want: 20},
		"behind_a_message_that_was_skipped": {
			config: skip, broker: &broker{ordered: true, answer: permanent("bad")},
			commit: func(t *testing.T, s *memstore.Store) { enqueue(t, s, message("a", "bad"), message("a", "2")) },
			want:   1,
		},
		"behind_a_message_that_was_requeued": {
			config: seldom, broker: &broker{ordered: true, answer: once(permanent("bad"))},
			commit: func(t *testing.T, s *memstore.Store) {
				m := message("a", "bad")
				enqueue(t, s, m, message("a", "2"))
				time.Sleep(time.Minute)
				if _, err := s.Requeue(t.Context(), outbox.Act{By: "test", Reason: "test"}, m.ID); err != nil {
					t.Error(err)
				}
			},
			want: 2,
		},
		"behind_a_message_that_was_due_again": {
			config: quick, broker: &broker{ordered: true, answer: once(refuse("bad"))},
			commit: func(t *testing.T, s *memstore.Store) {
				enqueue(t, s, message("a", "bad"))
				time.Sleep(time.Millisecond)
				enqueue(t, s, message("a", "2"))
				time.Sleep(2 * time.Second) // it is due, and the next poll is to come
				enqueue(t, s, message("b", "3"))
			},
			want: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New(memstore.Config{Lanes: 1})
				stop := start(t, s, tc.broker, tc.config)
				settleDown()
				tc.commit(t, s)
				synctest.Wait()
				if n := len(tc.broker.got("")); n != tc.want {
					t.Errorf("accepted %v, want %d", tc.broker.got(""), tc.want)
				}
				wantStopped(t, stop)
			})
		})
	}
}

func many(key string, n int) (ms []*outbox.Message) {
	for _, payload := range numbers(n) {
		ms = append(ms, message(key, payload))
	}
	return ms
}

func permanent(payload string) func(m *outbox.Message) outbox.Result {
	return func(m *outbox.Message) outbox.Result {
		if string(m.Payload) == payload {
			return outbox.Failed(outbox.Permanent(errFault))
		}
		return outbox.Accepted
	}
}

// once answers as answer does until that is no for the first time.
func once(answer func(m *outbox.Message) outbox.Result) func(m *outbox.Message) outbox.Result {
	done := false
	return func(m *outbox.Message) outbox.Result {
		if done {
			return outbox.Accepted
		}
		r := answer(m)
		done = !r.Accepted()
		return r
	}
}
