package protocolcheck

import (
	"go/build"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStory(t *testing.T) {
	t.Parallel()
	t.Run("tells_the_shortest_way_in_words", func(t *testing.T) {
		t.Parallel()
		c := Scenario{Messages: single, LostAnswers: 1, Rules: AllRules()}
		c.VoidUnanswered = false
		r, err := Check(c, OneClaim, limit)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"message 1 is committed",
			"A acquires and holds lane 0",
			"A claims under token 1",
			"claim 1 of A takes its snapshot and reads message 1",
			"A gives up waiting for the answer to claim 1",
			"claim 1 of A commits and names message 1",
			"A claims under token 2",
			"claim 2 of A takes its snapshot and reads message 1",
			"claim 2 of A commits and names message 1",
		}
		if diff := cmp.Diff(want, r.Violation.Trace); diff != "" {
			t.Errorf("story (-want +got):\n%s", diff)
		}
	})
	t.Run("names_what_a_relay_has_left_behind", func(t *testing.T) {
		t.Parallel()
		told := newStory()
		told.tell(event{verb: evSendClaim, who: 0})
		told.tell(event{verb: evStart, who: 0, other: former})
		got := told.tell(event{verb: evClaim, who: former, set: 0b11})
		if want := "claim 1 of the former session of A commits and names messages 1,2"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
	t.Run("leaves_no_place_open", func(t *testing.T) {
		t.Parallel()
		seen := map[verb]bool{}
		c := Scenario{Messages: pair, Lapses: 1, LostAnswers: 1, Rules: AllRules()}
		if _, err := explore(recorder{newModel(c), seen}, OwnSettle, limit); err != nil {
			t.Fatal(err)
		}
		for v := range seen {
			if line := newStory().tell(event{verb: v}); strings.ContainsAny(line, "{}") {
				t.Errorf("told %q", line)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	t.Run("is_an_error_when_the_world_is_larger_than_allowed", func(t *testing.T) {
		t.Parallel()
		if r, err := Check(Scenario{Messages: triple, Rules: AllRules()}, Everything, 10); err == nil {
			t.Errorf("explored %d states, want an error", r.States)
		}
	})
	t.Run("shares_no_code_with_what_it_checks", func(t *testing.T) {
		t.Parallel()
		p, err := build.ImportDir(".", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Imports {
			if strings.Contains(path, ".") {
				t.Errorf("imports %s", path)
			}
		}
	})
}
