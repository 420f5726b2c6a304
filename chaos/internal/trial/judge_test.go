//go:build unix

package trial

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/chaos/internal/fault"
	"github.com/postroom/postroom/verify"
)

func TestExcuses(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(1_800_000_000+int64(seconds), 0) }
	one, two := uuid.New(), uuid.New()
	cutOff := claim{ids: []uuid.UUID{one, two}, claimed: at(10), ended: at(13), remaining: 2}
	again := claim{ids: []uuid.UUID{one}, claimed: at(70), ended: at(71)}
	kill := fault.Event{Kind: "kill", From: at(11), To: at(11)}

	t.Run("are_claims_that_a_fault_cut_off_until_their_messages_were_claimed_for_the_last_time", func(t *testing.T) {
		t.Parallel()
		got := excuses([]fault.Event{kill}, []claim{cutOff, again})
		want := []verify.Record{{Kind: verify.Fault, Fault: "kill", From: at(10), To: at(71).Add(margin), Bound: 2}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("are_no_claims_that_ended_unsettled_without_a_fault_or_were_settled_in_spite_of_one", func(t *testing.T) {
		t.Parallel()
		if got := excuses(nil, []claim{cutOff, again}); len(got) > 0 {
			t.Errorf("without a fault: %v", got)
		}
		late := fault.Event{Kind: "kill", From: at(14), To: at(14)}
		if got := excuses([]fault.Event{late}, []claim{cutOff}); len(got) > 0 {
			t.Errorf("before the fault: %v", got)
		}
		settled := cutOff
		settled.remaining = 0
		if got := excuses([]fault.Event{kill}, []claim{settled}); len(got) > 0 {
			t.Errorf("settled: %v", got)
		}
	})
}
