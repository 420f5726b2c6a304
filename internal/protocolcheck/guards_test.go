package protocolcheck

import (
	"reflect"
	"slices"
	"testing"
)

// guard is a rule with what it guards against: without it, the scenario breaks the invariant.
type guard struct {
	claim  string
	breaks Invariant
	Scenario
	remove func(*Rules)
}

func needs(claim string, breaks Invariant, c Scenario, remove func(*Rules)) guard {
	return guard{claim, breaks, c, remove}
}

func guards() []guard {
	return slices.Concat(claimGuards(), orderGuards(), publishGuards(), laneGuards())
}

func claimGuards() []guard {
	return []guard{
		needs("locking_lanes_in_claim_stops_one_that_commits_after_a_takeover", OneClaim,
			Scenario{Messages: single, Lapses: Always}, func(r *Rules) { r.LockLanes = false }),
		needs("locking_lanes_in_claim_stops_one_that_commits_after_a_handover", OneClaim,
			Scenario{Messages: single, GiveBacks: 1}, func(r *Rules) { r.LockLanes = false }),
		needs("epochs_stop_a_claim_that_was_voided", OneClaim,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.CompareEpochs = false }),
		needs("epochs_stop_a_claim_whose_lane_was_away_meanwhile", OnceUnlessFault,
			Scenario{Messages: single, GiveBacks: 2}, func(r *Rules) { r.CompareEpochs = false }),
		needs("voiding_keeps_a_claim_without_an_answer_from_being_doubled", OneClaim,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.VoidUnanswered = false }),
		needs("voiding_keeps_a_claim_without_an_answer_from_stranding_its_messages", NeverStuck,
			Scenario{Messages: single, LostAnswers: 1, SkipClaimed: true}, func(r *Rules) { r.VoidUnanswered = false }),
		needs("voiding_raises_epochs_because_the_claim_may_still_arrive", OneClaim,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.VoidEpochs = false }),
		needs("voiding_looks_for_the_claim_after_it_has_waited_for_it", OneClaim,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.VoidLater = false }),
	}
}

func orderGuards() []guard {
	return []guard{
		needs("a_message_that_is_tried_again_holds_its_key", KeyOrder,
			Scenario{Messages: pair, Refusals: 1}, func(r *Rules) { r.HoldBehindRetry = false }),
		needs("a_suspect_holds_its_key", KeyOrder,
			Scenario{Messages: pair, Crashes: 1}, func(r *Rules) { r.HoldSuspects = false }),
		needs("claim_decides_what_is_held_because_a_mark_misses_what_is_committed_later", KeyOrder,
			Scenario{Messages: pair, Refusals: 1}, func(r *Rules) { r.HoldInClaim = false }),
		needs("a_requeued_message_holds_its_key_against_a_suspect_behind_it", KeyOrder,
			Scenario{Messages: pair, Lapses: 1, Refusals: 1, MaxFailures: 1, Requeue: true},
			func(r *Rules) { r.RequeueHolds = false }),
		needs("a_full_claim_stops_and_does_not_skip", KeyOrder,
			Scenario{Messages: pair, Limit: 1}, func(r *Rules) { r.BoundStops = false }),
		needs("waves_keep_a_message_behind_one_that_may_fail", KeyOrder,
			Scenario{Messages: pair, Refusals: 1}, func(r *Rules) { r.Waves = false }),
	}
}

func publishGuards() []guard {
	return []guard{
		needs("a_stop_waits_for_what_is_in_flight_which_would_arrive_twice", OnceUnlessFault,
			Scenario{Messages: single, Stops: 1}, func(r *Rules) { r.AwaitSends = false }),
		needs("a_stop_waits_for_what_is_in_flight_which_would_lose_its_attempt", AttemptCounted,
			Scenario{Messages: single, Stops: 1}, func(r *Rules) { r.AwaitSends = false }),
		needs("only_a_confirm_is_a_delivery", AcceptedFirst,
			Scenario{Messages: single, LostConfirms: 1}, func(r *Rules) { r.ConfirmOnly = false }),
		needs("an_unknown_outcome_is_an_attempt", AttemptCounted,
			Scenario{Messages: single, LostConfirms: 1}, func(r *Rules) { r.CountUnknowns = false }),
		needs("the_token_keeps_a_settle_off_another_session", OwnSettle,
			Scenario{Messages: single, Lapses: Always}, func(r *Rules) { r.Token = false }),
		needs("settle_takes_the_token_before_it_writes", OwnSettle,
			Scenario{Messages: single, Lapses: Always}, func(r *Rules) { r.TokenFirst = false }),
		needs("repeating_a_settle_keeps_its_claim_from_being_doubled", OneClaim,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.RepeatSettle = false }),
		needs("repeating_a_settle_keeps_its_attempt", AttemptCounted,
			Scenario{Messages: single, LostAnswers: 1}, func(r *Rules) { r.RepeatSettle = false }),
		needs("repeating_a_settle_keeps_its_messages_from_being_stranded", NeverStuck,
			Scenario{Messages: single, LostAnswers: 1, SkipClaimed: true}, func(r *Rules) { r.RepeatSettle = false }),
	}
}

func laneGuards() []guard {
	return []guard{
		needs("a_new_session_leaves_the_claims_of_the_old_one_to_recovery", AttemptCounted,
			Scenario{Messages: single, Crashes: 1}, func(r *Rules) { r.NewSession = false }),
		needs("a_new_session_does_not_claim_beside_the_old_one", OneClaim,
			Scenario{Messages: single, Crashes: 1}, func(r *Rules) { r.NewSession = false }),
		needs("a_new_session_lets_the_old_one_expire", NeverStuck,
			Scenario{Messages: single, Crashes: 1, SkipClaimed: true}, func(r *Rules) { r.NewSession = false }),
		needs("recovery_deletes_the_claims", OneClaim,
			Scenario{Messages: single, Crashes: 1}, func(r *Rules) { r.FoldDeletes = false }),
		needs("recovery_counts_the_attempts", AttemptCounted,
			Scenario{Messages: single, Crashes: 1}, func(r *Rules) { r.FoldCounts = false }),
		needs("recovery_looks_for_claims_after_it_has_waited_for_them", OneClaim,
			Scenario{Messages: single, Lapses: Always}, func(r *Rules) { r.FoldLater = false }),
		needs("a_lane_with_a_claim_is_not_given_back", OneClaim,
			Scenario{Messages: single, GiveBacks: 1}, func(r *Rules) { r.GiveBackWaits = false }),
		needs("a_lane_with_a_claim_given_back_would_be_published_twice", OnceUnlessFault,
			Scenario{Messages: single, GiveBacks: 1}, func(r *Rules) { r.GiveBackWaits = false }),
		needs("giving_back_looks_for_claims_after_it_has_waited_for_them", OneClaim,
			Scenario{Messages: single, GiveBacks: 1}, func(r *Rules) { r.GiveBackLater = false }),
		needs("lanes_are_released_after_the_last_claim", OnceUnlessFault,
			Scenario{Messages: single, Stops: 1}, func(r *Rules) { r.ReleaseLast = false }),
		needs("a_relay_that_ends_on_an_error_recovers_its_claim", AttemptCounted,
			Scenario{Messages: single, Breaks: 1}, func(r *Rules) { r.ReleaseRecover = false }),
	}
}

func TestGuards(t *testing.T) {
	t.Parallel()
	for _, g := range guards() {
		t.Run(g.claim, func(t *testing.T) {
			t.Parallel()
			g.Rules = AllRules()
			clean(t, g.Scenario, Everything)
			g.remove(&g.Rules)
			broken(t, g.Scenario, g.breaks)
		})
	}
	t.Run("order_does_not_rest_on_a_stop_that_waits", func(t *testing.T) {
		t.Parallel()
		c := Scenario{Messages: pair, Stops: 1, Refusals: 1, Rules: AllRules()}
		c.AwaitSends = false
		clean(t, c, KeyOrder)
	})
}

// redundant rules save duplicates or work; no invariant needs them while the others stand.
func redundant() []guard {
	return []guard{
		needs("the_owner_of_a_lane_in_claim_because_every_loss_raises_the_epoch", 0,
			Scenario{Messages: single, Lapses: 1, LostAnswers: 1, GiveBacks: 2, Stops: 1},
			func(r *Rules) { r.CompareOwner = false }),
		needs("the_lease_in_claim_because_recovery_folds_what_a_late_one_made", 0,
			Scenario{Messages: pair, Lapses: 1, LostAnswers: 1}, func(r *Rules) { r.CompareLease = false }),
		needs("the_age_of_the_lease_before_publishing_because_the_token_decides", 0,
			Scenario{Messages: pair, Lapses: 2, Refusals: 1}, func(r *Rules) { r.CheckAge = false }),
		needs("draining_because_a_lane_with_a_claim_is_kept_anyway", 0,
			Scenario{Messages: pair, GiveBacks: 2, LostAnswers: 1, Lapses: 1}, func(r *Rules) { r.Drain = false }),
		needs("recovery_at_a_stop_because_the_last_claim_was_settled_or_voided", 0,
			Scenario{Messages: pair, Stops: 2, LostAnswers: 1, Lapses: 1}, func(r *Rules) { r.ReleaseRecover = false }),
		needs("that_no_heartbeat_revives_a_session_because_its_claims_and_epochs_are_gone", 0,
			Scenario{Messages: pair, Lapses: 2}, func(r *Rules) { r.NeverRevive = false }),
	}
}

func TestRedundant(t *testing.T) {
	t.Parallel()
	for _, g := range redundant() {
		t.Run(g.claim, func(t *testing.T) {
			t.Parallel()
			g.Rules = AllRules()
			g.remove(&g.Rules)
			clean(t, g.Scenario, Everything)
		})
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	t.Run("are_each_either_needed_or_listed_as_redundant", func(t *testing.T) {
		t.Parallel()
		all := reflect.ValueOf(AllRules())
		for i := range all.NumField() {
			name := all.Type().Field(i).Name
			if !all.Field(i).Bool() {
				t.Errorf("%s is not among all rules", name)
			}
			if !slices.ContainsFunc(slices.Concat(guards(), redundant()), func(g guard) bool {
				rules := AllRules()
				g.remove(&rules)
				return !reflect.ValueOf(rules).Field(i).Bool()
			}) {
				t.Errorf("no test takes %s away", name)
			}
		}
	})
}
