package outbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

func TestStandbyRank(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		lanes  int
		relays string
		held   map[string]int
		want   map[string]int
	}{
		{"S1", 2, "a b c m n", map[string]int{"m": 1, "n": 1}, map[string]int{"m": -1, "n": -1, "a": 0, "b": 1, "c": 2}},
		{"S2", 8, "a b c m n", map[string]int{"m": 1, "n": 1}, map[string]int{"m": -1, "n": -1, "a": -1, "b": -1, "c": -1}},
		{"S3", 2, "r0 r1 r2 r3 r4 r5 r6 r7", map[string]int{"r3": 1, "r5": 1}, map[string]int{"r0": 0, "r1": 1, "r2": 2, "r3": -1, "r4": 3, "r5": -1, "r6": 4, "r7": 5}},
		{"F9_without_lanes_both_wait", 2, "a b x y", map[string]int{"x": 1, "y": 1}, map[string]int{"a": 0, "b": 1, "x": -1, "y": -1}},
		{"F11_the_joiner_waits_whatever_its_name", 8, "p0 p1 p2 p3 p4 p5 p6 p7 p8", map[string]int{"p1": 1, "p2": 1, "p3": 1, "p4": 1, "p5": 1, "p6": 1, "p7": 1, "p8": 1}, map[string]int{"p0": 0, "p8": -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := make(map[string]int)
			for name := range tc.want {
				got[name] = outbox.StandbyRank(tc.lanes, strings.Fields(tc.relays), tc.held, name)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A distant standby is asked every renewal; r stands for a full round, s for one that it rests through.
func TestRests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		lease, renew time.Duration
		want         string
	}{
		{"Z1", 30 * time.Second, 10 * time.Second, "rsrsrs"},
		{"Z2", 30 * time.Second, 5 * time.Second, "rsssrsss"},
		{"Z3", 30 * time.Second, 12 * time.Second, "rrrr"},
		{"Z4", 60 * time.Second, 10 * time.Second, "rsssrsss"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := "r"
			rested := time.Duration(0)
			for len(got) < len(tc.want) {
				if rested += tc.renew; outbox.Rests(rested, tc.renew, tc.lease) {
					got += "s"
					continue
				}
				got += "r"
				rested = 0
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("never_on_times_that_make_no_sense", func(t *testing.T) {
		t.Parallel()
		if outbox.Rests(-1, 0, time.Minute) || outbox.Rests(0, -1, time.Minute) {
			t.Error("rests although a clock went back")
		}
	})
}

func TestProbeOrder(t *testing.T) {
	t.Parallel()
	got := outbox.ProbeOrder(8, []string{"a", "b"}, nil, "b", []int{1, 9, 6, 1, -1})
	if d := cmp.Diff([]int{1, 6, 4, 5, 7, 0, 2, 3}, got); d != "" {
		t.Error(d)
	}
}
