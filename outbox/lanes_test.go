package outbox_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/postroom/postroom/outbox"
)

// The worked examples of fair share that Dekaf.Outbox publishes and tests.
func TestShares(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		lanes  int
		relays string
		held   map[string]int
		want   map[string]int
	}{
		{"F1_the_remainder_goes_to_the_lowest", 8, "a b c", nil, map[string]int{"a": 3, "b": 3, "c": 2}},
		{"F2", 7, "a b c d", nil, map[string]int{"a": 2, "b": 2, "c": 2, "d": 1}},
		{"F3_more_relays_than_lanes", 3, "a b c d e", nil, map[string]int{"a": 1, "b": 1, "c": 1, "d": 0, "e": 0}},
		{"F5_incumbents_keep_the_extra", 8, "a b c", map[string]int{"b": 4, "c": 4}, map[string]int{"a": 2, "b": 3, "c": 3}},
		{"F6_no_remainder", 8, "x y", map[string]int{"x": 3, "y": 5}, map[string]int{"x": 4, "y": 4}},
		{"F7", 10, "a b c d", map[string]int{"a": 2, "c": 3, "d": 5}, map[string]int{"a": 2, "b": 2, "c": 3, "d": 3}},
		{"F8", 4, "a b c", map[string]int{"a": 2, "b": 2}, map[string]int{"a": 2, "b": 1, "c": 1}},
		{"F9_a_joiner_starves_nobody", 2, "a b x y", map[string]int{"x": 1, "y": 1}, map[string]int{"a": 0, "b": 0, "x": 1, "y": 1}},
		{"F10_a_free_lane_goes_to_the_first_without", 2, "a b y", map[string]int{"y": 1}, map[string]int{"a": 1, "b": 0, "y": 1}},
		{"F11_without_counts_a_joiner_would_take_one", 8, "p0 p1 p2 p3 p4 p5 p6 p7 p8", nil, map[string]int{"p0": 1, "p1": 1, "p2": 1, "p3": 1, "p4": 1, "p5": 1, "p6": 1, "p7": 1, "p8": 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := outbox.Shares(tc.lanes, strings.Fields(tc.relays), tc.held)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPlanLanes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		table  string // the owner of each lane; - for none, a trailing ! for an expired lease
		relays string
		me     string
		want   outbox.LanePlan
	}{
		{"P1_steady", "a a a a b b b b", "a b", "a", outbox.LanePlan{Keep: []int{0, 1, 2, 3}}},
		{"P2_shrink_keeps_the_own_range", "m m m m m m m m", "m b", "m", outbox.LanePlan{Keep: []int{4, 5, 6, 7}, Release: []int{0, 1, 2, 3}}},
		{"P2_nothing_is_free_yet", "m m m m m m m m", "m b", "b", outbox.LanePlan{}},
		{"P3_no_swap", "a a a - b b b a", "a b", "a", outbox.LanePlan{Keep: []int{0, 1, 2, 7}}},
		{"P3_takes_the_free_one", "a a a - b b b a", "a b", "b", outbox.LanePlan{Keep: []int{4, 5, 6}, Claim: []int{3}}},
		{"P4_the_dead_one_is_split", "a a a a - - - - c c c c d d d d", "a c d", "a", outbox.LanePlan{Keep: []int{0, 1, 2, 3}, Claim: []int{4, 5}}},
		{"P4_c", "a a a a - - - - c c c c d d d d", "a c d", "c", outbox.LanePlan{Keep: []int{8, 9, 10, 11}, Claim: []int{6}}},
		{"P4_d", "a a a a - - - - c c c c d d d d", "a c d", "d", outbox.LanePlan{Keep: []int{12, 13, 14, 15}, Claim: []int{7}}},
		{"P5_an_own_expired_lease_is_still_mine", "a a! b dead!", "a b", "a", outbox.LanePlan{Keep: []int{0, 1}}},
		{"P5_b", "a a! b dead!", "a b", "b", outbox.LanePlan{Keep: []int{2}, Claim: []int{3}}},
		{"P6_a_live_lease_without_heartbeat_is_not_free", "gone gone gone gone", "a", "a", outbox.LanePlan{}},
		{"P7_above_the_floor_keeps_one", "c c", "a b c", "c", outbox.LanePlan{Keep: []int{1}, Release: []int{0}}},
		{"F4_the_caller_is_added_in_its_place", "- - - -", "a c", "b", outbox.LanePlan{Claim: []int{2}}},
		{"P8_the_caller_is_added", "a a a a - - - -", "a", "b", outbox.LanePlan{Claim: []int{4, 5, 6, 7}}},
		{"P9_both_give_one", "a a a a b b b b", "a b c", "a", outbox.LanePlan{Keep: []int{0, 1, 2}, Release: []int{3}}},
		{"P9_b", "a a a a b b b b", "a b c", "b", outbox.LanePlan{Keep: []int{4, 5, 6}, Release: []int{7}}},
		{"P9_c_after_both", "a a a - b b b -", "a b c", "c", outbox.LanePlan{Claim: []int{3, 7}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var table []outbox.LaneState
			for _, owner := range strings.Fields(tc.table) {
				name, expired := strings.CutSuffix(owner, "!")
				table = append(table, outbox.LaneState{Owner: strings.TrimPrefix(name, "-"), Expired: expired})
			}
			got := outbox.PlanLanes(table, strings.Fields(tc.relays), tc.me)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The vectors of Kafka's own client, and keys that applications use.
func TestLaneOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][4]int{ // modulo 4, 7, 8, 16
		"21":                       {0, 3, 4, 12},
		"foobar":                   {2, 0, 6, 14},
		"a-little-bit-long-string": {0, 1, 0, 0},
		"abc":                      {3, 4, 3, 11},
		"order-1":                  {2, 4, 6, 6},
		"order-12345":              {1, 3, 1, 9},
		"stable-key":               {1, 6, 1, 9},
	} {
		for i, lanes := range []int{4, 7, 8, 16} {
			if got := outbox.LaneOf(&outbox.Message{Key: key}, lanes); got != want[i] {
				t.Errorf("lane of %q among %d: got %d, want %d", key, lanes, got, want[i])
			}
		}
	}
}
