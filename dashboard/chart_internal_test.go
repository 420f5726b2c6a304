package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// series makes a point of each value, a minute apart and the last at noon; a negative value is not known.
func series(values ...float64) []point {
	points := make([]point, len(values))
	for i, v := range values {
		ago := time.Duration(len(values)-1-i) * time.Minute
		points[i] = point{noon.Add(-ago), v, v >= 0}
	}
	return points
}

func TestChart(t *testing.T) {
	t.Parallel()

	t.Run("is_a_line_from_the_first_point_to_now", func(t *testing.T) {
		t.Parallel()
		c := newChart("Waiting", series(0, 1, 2, 3, 4, 5), noon, numbers)
		want := chart{
			Title: "Waiting", Now: "5", Known: true, Top: "5", Since: "5 min ago",
			Summary: "Waiting: now 5; in the last 5 min between 0 and 5",
			Line:    "M0.0 120.0L0.0 120.0L120.0 96.0L240.0 72.0L360.0 48.0L480.0 24.0L600.0 0.0",
		}
		want.Area = want.Line + "L600.0 120L0.0 120Z"
		if d := cmp.Diff(want, c); d != "" {
			t.Errorf("chart (-want +got):\n%s", d)
		}
	})

	t.Run("has_a_gap_where_nothing_is_known_and_no_zero", func(t *testing.T) {
		t.Parallel()
		c := newChart("Waiting", series(5, 5, -1, -1, 5, 5), noon, numbers)
		if lines := strings.Count(c.Line, "M"); lines != 2 || strings.Contains(c.Line, " 120.0") {
			t.Errorf("the line is %s", c.Line)
		}
		if want := "M120.0 0H480.0V120H120.0Z"; c.Gaps != want {
			t.Errorf("the gap is %s, want %s", c.Gaps, want)
		}
	})

	t.Run("has_a_gap_until_somebody_looked", func(t *testing.T) {
		t.Parallel()
		c := newChart("Waiting", series(5), noon, numbers)
		if want := "M0.0 0H600.0V120H0.0Z"; c.Gaps != want {
			t.Errorf("the gap is %s, want %s", c.Gaps, want)
		}
	})

	t.Run("ends_in_a_gap_when_the_latest_is_not_known", func(t *testing.T) {
		t.Parallel()
		c := newChart("Waiting", series(5, 5, 5, 5, 5, -1), noon, numbers)
		if c.Known || c.Now != "not known" || c.Gaps != "M480.0 0H600.0V120H480.0Z" {
			t.Errorf("chart %+v", c)
		}
	})

	t.Run("has_a_round_number_above_its_values", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			measure measure
			value   float64
			want    string
		}{
			{numbers, 0, "5"},
			{numbers, 5, "5"},
			{numbers, 873, "1,000"},
			{numbers, 1_000_001, "2,000,000"},
			{rates, 0.2, "1.0/s"},
			{rates, 340, "500/s"},
			{ages, 95, "5 min"},
			{ages, 3 * 86400, "10 d"},
			{ages, 0.2, "1 s"},
		} {
			if got := c.measure.format(c.measure.edge(c.value)); got != c.want {
				t.Errorf("edge of %g is %s, want %s", c.value, got, c.want)
			}
		}
	})
}

func TestFormat(t *testing.T) {
	t.Parallel()

	t.Run("writes_ages_in_one_or_two_units", func(t *testing.T) {
		t.Parallel()
		for age, want := range map[time.Duration]string{
			-time.Second: "0 s", 0: "0 s", time.Microsecond: "1 ms", 250 * time.Millisecond: "250 ms", 59 * time.Second: "59 s",
			time.Minute: "1 min", 95 * time.Second: "1 min 35 s", 90 * time.Minute: "1 h 30 min", 47 * time.Hour: "47 h",
			50 * time.Hour: "2 d 2 h", 1000 * time.Hour: "41 d 16 h",
		} {
			if got := formatAge(age); got != want {
				t.Errorf("%v is %q, want %q", age, got, want)
			}
		}
	})

	t.Run("writes_lanes_as_ranges", func(t *testing.T) {
		t.Parallel()
		for want, lanes := range map[string][]int{
			"": nil, "3": {3}, "0–1": {0, 1}, "0–2, 5, 7–8": {0, 1, 2, 5, 7, 8},
		} {
			if got := laneRanges(lanes); got != want {
				t.Errorf("%v are %q, want %q", lanes, got, want)
			}
		}
	})
}
