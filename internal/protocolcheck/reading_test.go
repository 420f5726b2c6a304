package protocolcheck

import "testing"

// readingLimit is that of limit for readings, whose scenarios are larger.
const readingLimit = 400_000

func TestReading(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim string
		Reading
	}{
		{"misses_nothing_of_a_key_around_another", Reading{Keys: []byte("aba"), Operator: true}},
		{"misses_nothing_of_a_key_before_another", Reading{Keys: []byte("aab"), Operator: true}},
		{"misses_nothing_of_one_key", Reading{Keys: []byte("aaa"), Operator: true}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			t.Parallel()
			c.Rules = AllReadingRules()
			r := checkReading(t, c.Reading, ReadsAll|KeyOrder)
			if r.Violation != nil {
				t.Errorf("after %d states %v", r.States, r.Violation)
			}
			t.Logf("%d states, %d steps", r.States, r.Steps)
		})
	}
}

func TestReadingGuards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim  string
		remove func(*ReadingRules)
		keys   string
		breaks Invariant
	}{
		{"a_writer_has_its_id_before_its_numbers", func(r *ReadingRules) { r.IDFirst = false }, "aba", KeyOrder},
		{"numbers_are_given_out_in_order", func(r *ReadingRules) { r.InOrder = false }, "aba", KeyOrder},
		{"writers_that_ran_are_read_for", func(r *ReadingRules) { r.TrackWriters = false }, "aba", KeyOrder},
		{
			"writers_that_no_snapshot_lists_are_read_for",
			func(r *ReadingRules) { r.TrackUnlisted = false }, "aba", KeyOrder,
		},
		{
			"writers_listed_for_the_first_time_are_read_for_two_claims_back",
			func(r *ReadingRules) { r.TwoBack = false }, "aba", KeyOrder,
		},
		{
			"a_cursor_without_memory_breaks_the_order_of_writers_that_wait_for_one_another",
			func(r *ReadingRules) { r.TrackWriters, r.TrackUnlisted = false, false }, "aba", KeyOrder,
		},
		{
			"the_cursor_goes_below_released_messages",
			func(r *ReadingRules) { r.BelowReleased = false }, "aab", KeyOrder,
		},
		{
			"the_cursor_goes_below_a_settled_message_that_had_blocked",
			func(r *ReadingRules) { r.BelowDue = false }, "aab", ReadsAll,
		},
		{"operators_tell_relays_to_read_again", func(r *ReadingRules) { r.Nudge = false }, "aab", ReadsAll},
		{
			"a_relay_that_is_told_reads_from_the_beginning_twice",
			func(r *ReadingRules) { r.NudgeTwice = false }, "aab", ReadsAll,
		},
	} {
		t.Run(c.claim, func(t *testing.T) {
			t.Parallel()
			reading := Reading{Keys: []byte(c.keys), Operator: true, Rules: AllReadingRules()}
			c.remove(&reading.Rules)
			r := checkReading(t, reading, c.breaks)
			if r.Violation == nil {
				t.Fatalf("%d states, and none breaks: %v", r.States, c.breaks)
			}
			t.Logf("after %d states %v", r.States, r.Violation)
		})
	}
}

func checkReading(t *testing.T, r Reading, watch Invariant) Report {
	t.Helper()
	report, err := CheckReading(r, watch, readingLimit)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
