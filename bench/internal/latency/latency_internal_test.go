package latency

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// loop is a flow and its broker in memory: what is written arrives after delay. While it is stuck, writers wait.
type loop struct {
	servers.Destination
	delay time.Duration
	stuck func() time.Duration

	turn     chan struct{} // to write; a mutex would keep a bubble's clock from going on
	arriving chan arrival
}

type arrival struct {
	body []byte
	at   time.Time
}

func (l *loop) Follow(_ context.Context, see func([]byte)) (func() error, error) {
	l.turn, l.arriving = make(chan struct{}, 1), make(chan arrival, 1_000)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for a := range l.arriving {
			time.Sleep(time.Until(a.at))
			see(a.body)
		}
	}()
	return func() error { close(l.arriving); <-ended; return nil }, nil
}

func (l *loop) Write(_ context.Context, _ int, m load.Message, committed func()) error {
	l.turn <- struct{}{}
	time.Sleep(l.stuck())
	<-l.turn
	committed()
	l.arriving <- arrival{m.Body, time.Now().Add(l.delay)}
	return nil
}

func (l *loop) Settled(context.Context) error { return nil }

func (l *loop) Close() error { return nil }

func measure(t *testing.T, l *loop, w load.Workload, rate float64) Result {
	t.Helper()
	var _ subject.Flow = l
	r, err := Measure(t.Context(), l, l, w, rate)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(load.Verdict{Delivered: w.Messages}, r.Arrived); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	return r
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	never := func() time.Duration { return 0 }
	w := load.Workload{Messages: 1_000, Keys: 100, Size: 300}

	t.Run("writes_each_message_at_its_time", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := measure(t, &loop{delay: 5 * time.Millisecond, stuck: never}, w, 100)
			if got, want := r.Took, 9_995*time.Millisecond; got != want {
				t.Errorf("took %v, want %v", got, want)
			}
			if got := r.Figures[P50]; got < 4.9 || got > 5.1 {
				t.Errorf("%s = %v, want 5", P50, got)
			}
		})
	})

	t.Run("tells_what_a_stall_of_the_writers_does_to_those_that_were_to_come_meanwhile", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			begin, once := time.Now(), true
			stall := func() time.Duration {
				if once && time.Since(begin) > 5*time.Second {
					once = false
					return 2 * time.Second
				}
				return 0
			}
			r := measure(t, &loop{delay: time.Millisecond, stuck: stall}, w, 100)
			if got := r.Figures[P99]; got > 2 {
				t.Errorf("%s = %v, want that of messages that were committed", P99, got)
			}
			if got := r.Figures[intended+P99]; got < 1_800 || got > 2_001 {
				t.Errorf("%s = %v, want nearly as long as the stall", intended+P99, got)
			}
		})
	})

	t.Run("writes_as_fast_as_it_takes_without_a_rate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := measure(t, &loop{delay: time.Millisecond, stuck: func() time.Duration { return time.Millisecond }}, w, 0)
			if got, want := r.Took, 1_001*time.Millisecond; got != want {
				t.Errorf("took %v, want %v", got, want)
			}
		})
	})
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		offer string
		want  float64
		fails bool
	}{
		{"is_as_many_as_can_be_flat_out", FlatOut, 0, false},
		{"is_a_number", "500/s", 500, false},
		{"is_a_share_of_flat_out", "50 %", 1_000, false},
		{"is_unknown_for_another_word", "many", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Rate(test.offer, 2_000)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("rate = %v, %v; want %v, error %v", got, err, test.want, test.fails)
			}
		})
	}
	t.Run("of_a_share_needs_the_rate_flat_out", func(t *testing.T) {
		t.Parallel()
		if _, err := Rate("10 %", 0); err == nil {
			t.Error("no error without it")
		}
	})
}
