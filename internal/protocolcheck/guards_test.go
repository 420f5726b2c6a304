package protocolcheck

import "testing"

// guard is a rule with what it guards against: without it, the scenario breaks the invariant.
type guard struct {
	claim  string
	remove func(*Rules)
	Scenario
	breaks Invariant
}

func guards() []guard {
	return append(append(claimGuards(), publishGuards()...), laneGuards()...)
}

func claimGuards() []guard {
	return []guard{
		{
			"locking_lanes_in_claim_stops_one_that_commits_after_a_takeover",
			func(r *Rules) { r.LockLanes = false },
			Scenario{Messages: single, Lapses: Always},
			OneClaim,
		},
		{
			"locking_lanes_in_claim_stops_one_that_commits_after_a_handover",
			func(r *Rules) { r.LockLanes = false },
			Scenario{Messages: single, GiveBacks: 1},
			OneClaim,
		},
		{
			"epochs_stop_a_claim_that_was_voided",
			func(r *Rules) { r.CompareEpochs = false },
			Scenario{Messages: single, LostAnswers: 1},
			OneClaim,
		},
		{
			"epochs_stop_a_claim_whose_lane_was_away_meanwhile",
			func(r *Rules) { r.CompareEpochs = false },
			Scenario{Messages: single, GiveBacks: 2},
			OnceUnlessFault,
		},
		{
			"a_message_that_is_tried_again_holds_its_key",
			func(r *Rules) { r.HoldBehindRetry = false },
			Scenario{Messages: pair, Refusals: 1},
			KeyOrder,
		},
		{
			"a_suspect_holds_its_key",
			func(r *Rules) { r.HoldSuspects = false },
			Scenario{Messages: pair, Crashes: 1},
			KeyOrder,
		},
		{
			"claim_decides_what_is_held_because_a_mark_misses_what_is_committed_later",
			func(r *Rules) { r.HoldInClaim = false },
			Scenario{Messages: pair, Refusals: 1},
			KeyOrder,
		},
		{
			"a_requeued_message_holds_its_key_against_a_suspect_behind_it",
			func(r *Rules) { r.RequeueHolds = false },
			Scenario{Messages: pair, Lapses: 1, Refusals: 1, MaxFailures: 1, Requeue: true},
			KeyOrder,
		},
		{
			"a_full_claim_stops_and_does_not_skip",
			func(r *Rules) { r.BoundStops = false },
			Scenario{Messages: pair, Limit: 1},
			KeyOrder,
		},
		{
			"voiding_keeps_a_claim_without_an_answer_from_being_doubled",
			func(r *Rules) { r.VoidUnanswered = false },
			Scenario{Messages: single, LostAnswers: 1},
			OneClaim,
		},
		{
			"voiding_keeps_a_claim_without_an_answer_from_stranding_its_messages",
			func(r *Rules) { r.VoidUnanswered = false },
			Scenario{Messages: single, LostAnswers: 1, SkipClaimed: true},
			NeverStuck,
		},
		{
			"voiding_raises_epochs_because_the_claim_may_still_arrive",
			func(r *Rules) { r.VoidEpochs = false },
			Scenario{Messages: single, LostAnswers: 1},
			OneClaim,
		},
		{
			"voiding_looks_for_the_claim_after_it_has_waited_for_it",
			func(r *Rules) { r.VoidLater = false },
			Scenario{Messages: single, LostAnswers: 1},
			OneClaim,
		},
	}
}

func publishGuards() []guard {
	return []guard{
		{
			"waves_keep_a_message_behind_one_that_may_fail",
			func(r *Rules) { r.Waves = false },
			Scenario{Messages: pair, Refusals: 1},
			KeyOrder,
		},
		{
			"a_stop_waits_for_what_is_in_flight_which_would_arrive_twice",
			func(r *Rules) { r.AwaitSends = false },
			Scenario{Messages: single, Stops: 1},
			OnceUnlessFault,
		},
		{
			"a_stop_waits_for_what_is_in_flight_which_would_lose_its_attempt",
			func(r *Rules) { r.AwaitSends = false },
			Scenario{Messages: single, Stops: 1},
			AttemptCounted,
		},
		{
			"only_a_confirm_is_a_delivery",
			func(r *Rules) { r.ConfirmOnly = false },
			Scenario{Messages: single, LostConfirms: 1},
			AcceptedFirst,
		},
		{
			"an_unknown_outcome_is_an_attempt",
			func(r *Rules) { r.CountUnknowns = false },
			Scenario{Messages: single, LostConfirms: 1},
			AttemptCounted,
		},
		{
			"the_token_keeps_a_settle_off_another_session",
			func(r *Rules) { r.Token = false },
			Scenario{Messages: single, Lapses: Always},
			OwnSettle,
		},
		{
			"settle_takes_the_token_before_it_writes",
			func(r *Rules) { r.TokenFirst = false },
			Scenario{Messages: single, Lapses: Always},
			OwnSettle,
		},
		{
			"repeating_a_settle_keeps_its_claim_from_being_doubled",
			func(r *Rules) { r.RepeatSettle = false },
			Scenario{Messages: single, LostAnswers: 1},
			OneClaim,
		},
		{
			"repeating_a_settle_keeps_its_attempt",
			func(r *Rules) { r.RepeatSettle = false },
			Scenario{Messages: single, LostAnswers: 1},
			AttemptCounted,
		},
		{
			"repeating_a_settle_keeps_its_messages_from_being_stranded",
			func(r *Rules) { r.RepeatSettle = false },
			Scenario{Messages: single, LostAnswers: 1, SkipClaimed: true},
			NeverStuck,
		},
	}
}

func laneGuards() []guard {
	return []guard{
		{
			"a_new_session_leaves_the_claims_of_the_old_one_to_recovery",
			func(r *Rules) { r.NewSession = false },
			Scenario{Messages: single, Crashes: 1},
			AttemptCounted,
		},
		{
			"a_new_session_does_not_claim_beside_the_old_one",
			func(r *Rules) { r.NewSession = false },
			Scenario{Messages: single, Crashes: 1},
			OneClaim,
		},
		{
			"a_new_session_lets_the_old_one_expire",
			func(r *Rules) { r.NewSession = false },
			Scenario{Messages: single, Crashes: 1, SkipClaimed: true},
			NeverStuck,
		},
		{
			"recovery_deletes_the_claims",
			func(r *Rules) { r.FoldDeletes = false },
			Scenario{Messages: single, Crashes: 1},
			OneClaim,
		},
		{
			"recovery_counts_the_attempts",
			func(r *Rules) { r.FoldCounts = false },
			Scenario{Messages: single, Crashes: 1},
			AttemptCounted,
		},
		{
			"recovery_looks_for_claims_after_it_has_waited_for_them",
			func(r *Rules) { r.FoldLater = false },
			Scenario{Messages: single, Lapses: Always},
			OneClaim,
		},
		{
			"a_lane_with_a_claim_is_not_given_back",
			func(r *Rules) { r.GiveBackWaits = false },
			Scenario{Messages: single, GiveBacks: 1},
			OneClaim,
		},
		{
			"a_lane_with_a_claim_given_back_would_be_published_twice",
			func(r *Rules) { r.GiveBackWaits = false },
			Scenario{Messages: single, GiveBacks: 1},
			OnceUnlessFault,
		},
		{
			"giving_back_looks_for_claims_after_it_has_waited_for_them",
			func(r *Rules) { r.GiveBackLater = false },
			Scenario{Messages: single, GiveBacks: 1},
			OneClaim,
		},
		{
			"lanes_are_released_after_the_last_claim",
			func(r *Rules) { r.ReleaseLast = false },
			Scenario{Messages: single, Stops: 1},
			OnceUnlessFault,
		},
		{
			"a_relay_that_ends_on_an_error_recovers_its_claim",
			func(r *Rules) { r.ReleaseRecover = false },
			Scenario{Messages: single, Breaks: 1},
			AttemptCounted,
		},
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
func TestRedundant(t *testing.T) {
	t.Parallel()
	for _, g := range []guard{
		{
			claim:    "the_owner_of_a_lane_in_claim_because_every_loss_raises_the_epoch",
			remove:   func(r *Rules) { r.CompareOwner = false },
			Scenario: Scenario{Messages: single, Lapses: 1, LostAnswers: 1, GiveBacks: 2, Stops: 1},
		},
		{
			claim:    "the_lease_in_claim_because_recovery_folds_what_a_late_one_made",
			remove:   func(r *Rules) { r.CompareLease = false },
			Scenario: Scenario{Messages: pair, Lapses: Always, LostAnswers: 1},
		},
		{
			claim:    "the_age_of_the_lease_before_publishing_because_the_token_decides",
			remove:   func(r *Rules) { r.CheckAge = false },
			Scenario: Scenario{Messages: pair, Lapses: Always, Refusals: 1, LostAnswers: 1},
		},
		{
			claim:    "draining_because_a_lane_with_a_claim_is_kept_anyway",
			remove:   func(r *Rules) { r.Drain = false },
			Scenario: Scenario{Messages: pair, GiveBacks: 2, LostAnswers: 1, Lapses: 1},
		},
		{
			claim:    "recovery_at_a_stop_because_the_last_claim_was_settled_or_voided",
			remove:   func(r *Rules) { r.ReleaseRecover = false },
			Scenario: Scenario{Messages: pair, Stops: 2, LostAnswers: 2, Lapses: 1},
		},
		{
			claim:    "that_no_heartbeat_revives_a_session_because_its_claims_and_epochs_are_gone",
			remove:   func(r *Rules) { r.NeverRevive = false },
			Scenario: Scenario{Messages: pair, Lapses: 2, LostAnswers: 1},
		},
	} {
		t.Run(g.claim, func(t *testing.T) {
			t.Parallel()
			g.Rules = AllRules()
			g.remove(&g.Rules)
			clean(t, g.Scenario, Everything)
		})
	}
}
