package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sequence is what a consumer that drops known ids makes of deliveries.
type sequence struct {
	faults  []string   // broken order, and what is missing
	repeats []delivery // ids that came again
}

// sequenceOf holds deliveries against the numbers 1 to want[key] of each key.
func sequenceOf(want map[string]int, deliveries []delivery) sequence {
	var s sequence
	known := map[string]bool{}
	last := map[string]int{}
	for at, d := range deliveries {
		if known[d.id] {
			s.repeats = append(s.repeats, d)
			continue
		}
		known[d.id] = true
		if next := last[d.Customer] + 1; d.TotalCents != next {
			s.faults = append(s.faults, fmt.Sprintf("delivery %d is %v, want number %d of that key", at, d, next))
		}
		last[d.Customer] = max(last[d.Customer], d.TotalCents)
		if _, ok := want[d.Customer]; !ok {
			s.faults = append(s.faults, fmt.Sprintf("delivery %d is %v, of an unknown key", at, d))
		}
	}
	s.faults = append(s.faults, missing(want, deliveries)...)
	return s
}

// missing lists the numbers of each key that never came.
func missing(want map[string]int, deliveries []delivery) []string {
	came := map[body]bool{}
	for _, d := range deliveries {
		came[d.body] = true
	}
	var list []string
	for key, n := range want {
		var numbers []int
		for i := 1; i <= n; i++ {
			if !came[body{key, i}] {
				numbers = append(numbers, i)
			}
		}
		if len(numbers) > 0 {
			list = append(list, fmt.Sprintf("of key %s the numbers %v never came", key, numbers))
		}
	}
	slices.Sort(list)
	return list
}

// check reports the faults, the first few of them.
func (s sequence) check(t *testing.T) {
	t.Helper()
	const shown = 20
	if n := len(s.faults); n > 0 {
		t.Errorf("%d faults:\n%s", n, strings.Join(s.faults[:min(n, shown)], "\n"))
	}
}

// checkOnce reports faults and repeats.
func (s sequence) checkOnce(t *testing.T) {
	t.Helper()
	s.check(t)
	if n := len(s.repeats); n > 0 {
		t.Errorf("%d messages came more than once, among them %v", n, s.repeats[:min(n, 20)])
	}
}

func TestSequence(t *testing.T) {
	t.Parallel()
	d := func(key string, n int) delivery {
		return delivery{id: fmt.Sprintf("%s-%d", key, n), body: body{key, n}}
	}
	want := map[string]int{"a": 3, "b": 1}
	for name, test := range map[string]struct {
		deliveries      []delivery
		faults, repeats int
	}{
		"accepts_each_key_rising_by_one": {[]delivery{d("a", 1), d("b", 1), d("a", 2), d("a", 3)}, 0, 0},
		"drops_known_ids": {
			[]delivery{d("a", 1), d("a", 2), d("a", 1), d("a", 2), d("a", 3), d("b", 1)}, 0, 2,
		},
		"reports_a_swap":          {[]delivery{d("a", 2), d("a", 1), d("a", 3), d("b", 1)}, 2, 0},
		"reports_what_is_missing": {[]delivery{d("a", 1), d("a", 2)}, 2, 0},
		"reports_an_unknown_key":  {[]delivery{d("a", 1), d("a", 2), d("a", 3), d("b", 1), d("c", 1)}, 1, 0},
		"reports_a_second_id_of_a_number": {
			[]delivery{d("a", 1), d("a", 2), {id: "other", body: body{"a", 2}}, d("a", 3), d("b", 1)}, 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := sequenceOf(want, test.deliveries)
			if len(got.faults) != test.faults || len(got.repeats) != test.repeats {
				t.Errorf("got %d faults and %d repeats, want %d and %d: %v, %v",
					len(got.faults), len(got.repeats), test.faults, test.repeats, got.faults, got.repeats)
			}
		})
	}
}
