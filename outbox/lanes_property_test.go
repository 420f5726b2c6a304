package outbox_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/postroom/postroom/outbox"
	"pgregory.net/rapid"
)

// lanesModel is a table of lanes and the relays that share it.
type lanesModel struct {
	table  []outbox.LaneState
	relays []string
}

func drawLanes(t *rapid.T) lanesModel {
	m := lanesModel{relays: rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 1, 12, rapid.ID).Draw(t, "relays")}
	owners := append([]string{"", "Dead"}, m.relays...)
	for range rapid.IntRange(1, 64).Draw(t, "lanes") {
		owner := rapid.SampledFrom(owners).Draw(t, "owner")
		m.table = append(m.table, outbox.LaneState{Owner: owner, Expired: owner == "Dead"})
	}
	return m
}

func (m lanesModel) held() map[string]int {
	held := make(map[string]int)
	for _, l := range m.table {
		if l.Owner != "" && !l.Expired {
			held[l.Owner]++
		}
	}
	return held
}

// round lets one relay carry out its plan.
func (m lanesModel) round(me string) outbox.LanePlan {
	plan := outbox.PlanLanes(m.table, m.relays, me)
	for _, lane := range plan.Release {
		m.table[lane] = outbox.LaneState{}
	}
	for _, lane := range plan.Claim {
		m.table[lane] = outbox.LaneState{Owner: me}
	}
	return plan
}

func TestLanes_properties(t *testing.T) {
	t.Parallel()
	t.Run("shares_sum_to_the_lanes_and_differ_by_one_at_most", rapid.MakeCheck(func(t *rapid.T) {
		m := drawLanes(t)
		shares := slices.Collect(maps.Values(outbox.Shares(len(m.table), m.relays, m.held())))
		sum := 0
		for _, s := range shares {
			sum += s
		}
		if sum != len(m.table) || slices.Max(shares)-slices.Min(shares) > 1 {
			t.Fatalf("%d lanes: %v", len(m.table), shares)
		}
	}))
	t.Run("two_relays_that_see_the_same_table_never_plan_the_same_claim", rapid.MakeCheck(func(t *rapid.T) {
		m := drawLanes(t)
		by := make(map[int]string)
		for _, me := range m.relays {
			for _, lane := range outbox.PlanLanes(m.table, m.relays, me).Claim {
				if other, ok := by[lane]; ok {
					t.Fatalf("lane %d is claimed by %s and %s", lane, other, me)
				}
				if s := m.table[lane]; s.Owner != "" && !s.Expired {
					t.Fatalf("%s claims lane %d of %s", me, lane, s.Owner)
				}
				by[lane] = me
			}
		}
	}))
	t.Run("a_kept_lane_never_moves_and_churn_settles_fair", rapid.MakeCheck(func(t *rapid.T) {
		m := drawLanes(t)
		for range 3 {
			for _, me := range rapid.Permutation(m.relays).Draw(t, "order") {
				before := slices.Clone(m.table)
				plan := m.round(me)
				for _, lane := range plan.Keep {
					if before[lane].Owner != me || m.table[lane].Owner != me {
						t.Fatalf("%s keeps lane %d of %q", me, lane, before[lane].Owner)
					}
				}
			}
		}
		held := m.held()
		for _, me := range m.relays {
			if floor := len(m.table) / len(m.relays); held[me] < floor || held[me] > floor+1 {
				t.Fatalf("%s holds %d of %d lanes among %d relays", me, held[me], len(m.table), len(m.relays))
			}
			if plan := outbox.PlanLanes(m.table, m.relays, me); len(plan.Release)+len(plan.Claim) > 0 {
				t.Fatalf("%s is not at rest: %s", me, fmt.Sprint(plan))
			}
		}
	}))
	t.Run("a_relay_that_moves_to_its_share_changes_no_others", rapid.MakeCheck(func(t *rapid.T) {
		m := drawLanes(t)
		before := outbox.Shares(len(m.table), m.relays, m.held())
		m.round(rapid.SampledFrom(m.relays).Draw(t, "mover"))
		after := outbox.Shares(len(m.table), m.relays, m.held())
		if !maps.Equal(before, after) {
			t.Fatalf("from %v to %v", before, after)
		}
	}))
}
