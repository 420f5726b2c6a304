package protocolcheck

import "testing"

// limit is far above every scenario here: one that reaches it has grown by accident.
const limit = 400_000

// Messages 1, 2 and 3, by key and lane.
var (
	single   = []Message{{Key: 'a'}}
	pair     = []Message{{Key: 'a'}, {Key: 'a'}}
	mixed    = []Message{{Key: 'a'}, {Key: 'b'}, {Key: 'a'}}
	triple   = []Message{{Key: 'a'}, {Key: 'a'}, {Key: 'a'}}
	keyless  = []Message{{}, {Key: 'a'}, {Key: 'a'}}
	twoLanes = []Message{{Key: 'a'}, {Key: 'b', Lane: 1}}
	lanePair = []Message{{Key: 'a'}, {Key: 'b', Lane: 1}, {Key: 'a'}}
)

// world is a scenario that the whole protocol survives.
type world struct {
	name string
	Scenario
}

func worlds() []world {
	return []world{
		{"all_is_well", Scenario{Messages: triple}},
		{"one_message_and_every_fault_of_relays", Scenario{
			Messages: single, Crashes: 1, Lapses: 1, LostAnswers: 1, GiveBacks: 1, Stops: 1,
		}},
		{"two_crashes_and_any_number_of_lapses", Scenario{Messages: single, Crashes: 2, Lapses: Always, LostAnswers: 1}},
		{"lapses_and_two_lost_answers", Scenario{Messages: pair, Lapses: Always, LostAnswers: 2}},
		{"lost_answers_where_claimed_messages_are_skipped", Scenario{
			Messages: pair, Lapses: 1, LostAnswers: 2, SkipClaimed: true,
		}},
		{"crashes_and_a_lost_answer", Scenario{Messages: pair, Crashes: 2, LostAnswers: 1}},
		{"a_crash_and_a_lapse_around_a_refusal", Scenario{Messages: pair, Crashes: 1, Lapses: 1, Refusals: 1}},
		{"a_crash_and_a_lapse_around_a_lost_confirm", Scenario{Messages: pair, Crashes: 1, Lapses: 1, LostConfirms: 1}},
		{"an_operator_beside_refusals_and_a_lapse", Scenario{
			Messages: pair, Refusals: Always, MaxFailures: 1, LostConfirms: 1, Lapses: 1, Requeue: true, Discard: true,
		}},
		{"stops_and_a_handover", Scenario{Messages: pair, Stops: 2, GiveBacks: 1, LostAnswers: 1, LostConfirms: 1}},
		{"two_handovers_and_a_stop", Scenario{Messages: pair, GiveBacks: 2, Stops: 1, LostAnswers: 1, Refusals: 1}},
		{"a_crash_and_a_stop", Scenario{Messages: pair, Crashes: 1, Stops: 1, LostAnswers: 1, LostConfirms: 1}},
		{"a_publisher_that_breaks_its_contract", Scenario{Messages: pair, Breaks: 2, Refusals: 1, LostAnswers: 1}},
		{"a_key_ordered_publisher_and_a_crash", Scenario{
			Messages: pair, KeyOrdered: true, Refusals: 1, LostConfirms: 2, Crashes: 1,
		}},
		{"a_key_ordered_publisher_and_a_lapse", Scenario{
			Messages: pair, KeyOrdered: true, Refusals: 1, LostConfirms: 1, Lapses: 1,
		}},
		{"a_key_ordered_publisher_and_three_messages", Scenario{
			Messages: triple, KeyOrdered: true, Refusals: 2, LostConfirms: 1,
		}},
		{"a_crash_beside_another_key", Scenario{Messages: mixed, Crashes: 1, Refusals: 1}},
		{"failures_beside_another_key", Scenario{Messages: mixed, Refusals: 2, LostConfirms: 2}},
		{"a_lapse_beside_a_message_without_a_key", Scenario{Messages: keyless, Lapses: 1}},
		{"a_full_claim", Scenario{Messages: triple, Limit: 2, Refusals: 1, Crashes: 1}},
		{"two_lanes_and_a_lapse", Scenario{Messages: twoLanes, Lanes: 2, PartialTakes: true, Lapses: 1, LostAnswers: 1}},
		{"two_lanes_and_handovers", Scenario{
			Messages: twoLanes, Lanes: 2, PartialTakes: true, GiveBacks: 2, LostAnswers: 2,
		}},
		{"two_lanes_and_a_crash", Scenario{Messages: twoLanes, Lanes: 2, PartialTakes: true, Crashes: 1, GiveBacks: 1}},
		{"two_lanes_and_a_stop", Scenario{
			Messages: twoLanes, Lanes: 2, PartialTakes: true, Stops: 1, GiveBacks: 1, LostAnswers: 1,
		}},
		{
			"two_lanes_three_messages_and_a_handover",
			Scenario{Messages: lanePair, Lanes: 2, PartialTakes: true, GiveBacks: 1, Refusals: 1},
		},
		{"two_lanes_and_three_messages", Scenario{Messages: lanePair, Lanes: 2, PartialTakes: true, Crashes: 1}},
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	for _, w := range worlds() {
		t.Run("survives_"+w.name, func(t *testing.T) {
			t.Parallel()
			w.Rules = AllRules()
			clean(t, w.Scenario, Everything)
		})
	}
	t.Run("strands_nothing_where_writers_do_not_wait_for_one_another", func(t *testing.T) {
		t.Parallel()
		c := Scenario{Messages: pair, Unserialized: true, Refusals: 1, Lapses: 1, Rules: AllRules()}
		clean(t, c, Everything&^KeyOrder)
	})
	t.Run("needs_writers_that_wait_for_one_another_for_order", func(t *testing.T) {
		t.Parallel()
		broken(t, Scenario{Messages: pair, Unserialized: true, Rules: AllRules()}, KeyOrder)
	})
}

// clean fails t with the story of what breaks.
func clean(t *testing.T, c Scenario, watch Invariant) {
	t.Helper()
	r, err := Check(c, watch, limit)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation != nil {
		t.Errorf("after %d states %v", r.States, r.Violation)
	}
	t.Logf("%d states, %d steps", r.States, r.Steps)
}

// broken fails t unless the check finds how to break want, which it then tells.
func broken(t *testing.T, c Scenario, want Invariant) {
	t.Helper()
	r, err := Check(c, want, limit)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation == nil {
		t.Fatalf("%d states, and none breaks: %v", r.States, want)
	}
	t.Logf("after %d states %v", r.States, r.Violation)
}

// recorder notes what happens in a search.
type recorder struct {
	*model
	seen map[verb]bool
}

func (r recorder) next(s *state) []step[state] {
	steps := r.model.next(s)
	for _, v := range steps {
		r.seen[v.event.verb] = true
	}
	return steps
}

// A check of worlds in which nothing happens would be clean, too.
func TestWorlds(t *testing.T) {
	t.Parallel()
	t.Run("take_every_step_that_the_rules_allow", func(t *testing.T) {
		t.Parallel()
		seen := map[verb]bool{}
		for _, w := range worlds() {
			if w.Crashes+w.Lapses > 1 { // the large ones add no step of their own
				continue
			}
			w.Rules = AllRules()
			if _, err := explore(recorder{newModel(w.Scenario), seen}, OwnSettle, limit); err != nil {
				t.Fatal(err)
			}
		}
		c := Scenario{Messages: single, Lapses: 1, Refusals: 2, Requeue: true, Discard: true, Rules: AllRules()}
		c.Crashes = Always
		if _, err := explore(recorder{newModel(c), seen}, OwnSettle, limit); err != nil {
			t.Fatal(err)
		}
		for _, v := range []verb{
			evCommit, evDue, evRequeue, evDiscard, evLate, evLapse, evBury, evFold, evAcquire, evAcquireLost, evDrain, evGive,
			evSendClaim, evSnapshot, evClaim, evNoClaim, evLoseClaim, evVoid, evVoidLost, evVoidRepeat, evVoidLate,
			evPublish, evTooLate, evDoom, evSend, evAccept, evRefuse, evConfirm, evUnknown, evFallout,
			evSendSettle, evSettle, evSettleLost, evLoseSettle, evRepeat, evRepeatLost,
			evCrash, evStart, evRenew, evStop, evRelease, evBreak,
		} {
			if !seen[v] {
				t.Errorf("in no world %q", v)
			}
		}
	})
}
