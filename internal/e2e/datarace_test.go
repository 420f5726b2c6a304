package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// raceReport is one report of the race detector; access is a line that names the code on one side of it.
var (
	raceReport = regexp.MustCompile(`(?s)WARNING: DATA RACE.*?={18}`)
	access     = regexp.MustCompile(`(?m)^\s*(?:Previous )?(?:[Aa]tomic )?(?:[Rr]ead|[Ww]rite) at .*\n\s*(\S+)`)
)

// ownRaces returns the reports in text that are not of watermill-amqp alone. Its connection replaces a channel that
// its subscribers read, without a lock, whenever it connects anew (connection.go of v3.0.2: connected), so a shop
// that consumes through it may race when its broker restarts. That is not ours to mend, and no reason to look away
// from others.
func ownRaces(text string) []string {
	var own []string
	for _, report := range raceReport.FindAllString(text, -1) {
		sides := access.FindAllStringSubmatch(report, -1)
		foreign := len(sides) == 2
		for _, side := range sides {
			foreign = foreign && strings.HasPrefix(side[1], "github.com/ThreeDotsLabs/watermill-amqp/")
		}
		if !foreign {
			own = append(own, report)
		}
	}
	return own
}

func TestOwnRaces(t *testing.T) {
	t.Parallel()
	report := func(one, two string) string {
		return "noise\n==================\nWARNING: DATA RACE\nRead at 0x00c0 by goroutine 7:\n  " + one +
			"()\n      file.go:1 +0x1\n\nPrevious write at 0x00c0 by goroutine 8:\n  " + two +
			"()\n      file.go:2 +0x2\n\nGoroutine 7 (running) created at:\n  main.main()\n==================\n"
	}
	const theirs = "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp.(*ConnectionWrapper).Connected"
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"ignores_a_race_within_watermill_amqp": {report(theirs, theirs), 0},
		"reports_one_with_our_code":            {report(theirs, "github.com/postroom/postroom/amqp.(*link).watch"), 1},
		"reports_one_behind_another":           {report(theirs, theirs) + report("main.run", "main.run"), 1},
		"finds_none_in_other_output":           {"orders-api listens", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := len(ownRaces(tc.text)); got != tc.want {
				t.Errorf("got %d reports, want %d", got, tc.want)
			}
		})
	}
}
