package load_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/bench/internal/load"
)

func TestWorkload(t *testing.T) {
	t.Parallel()
	w := load.Workload{Messages: 1_000, Keys: 10, Size: 300}

	t.Run("makes_as_many_messages_of_the_size_over_all_keys", func(t *testing.T) {
		t.Parallel()
		ids, keys := map[uuid.UUID]bool{}, map[string]int{}
		for m, err := range w.All() {
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Body) != w.Size {
				t.Fatalf("body has %d bytes, want %d", len(m.Body), w.Size)
			}
			ids[m.ID] = true
			keys[m.Key]++
		}
		if len(ids) != w.Messages || len(keys) != w.Keys {
			t.Errorf("%d ids of %d keys, want %d of %d", len(ids), len(keys), w.Messages, w.Keys)
		}
		for key, n := range keys {
			if n < 50 || n > 150 {
				t.Errorf("%s has %d messages, want about 100", key, n)
			}
		}
	})

	t.Run("makes_the_same_bodies_in_each_run", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(bodies(t, w), bodies(t, w)); diff != "" {
			t.Errorf("second run differs (-first +second):\n%s", diff)
		}
	})

	t.Run("gives_all_of_them_in_batches", func(t *testing.T) {
		t.Parallel()
		var sizes []int
		var got []string
		for batch, err := range w.Batches(300) {
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(batch))
			for _, m := range batch {
				got = append(got, string(m.Body))
			}
		}
		if diff := cmp.Diff([]int{300, 300, 300, 100}, sizes); diff != "" {
			t.Errorf("sizes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(bodies(t, w), got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})

	t.Run("uses_few_keys_much_by_Zipf", func(t *testing.T) {
		t.Parallel()
		w := load.Workload{Messages: 10_000, Keys: 1_000, Size: 300, Spread: load.Zipf}
		keys := map[string]int{}
		for m, err := range w.All() {
			if err != nil {
				t.Fatal(err)
			}
			keys[m.Key]++
		}
		if first := keys["key-00000000"]; first < 1_000 || first > 3_000 || len(keys) < 300 {
			t.Errorf("%d messages of the first key and %d keys, want 1 000 to 3 000 and at least 300", first, len(keys))
		}
	})

	t.Run("refuses_what_cannot_be_told_apart", func(t *testing.T) {
		t.Parallel()
		for _, bad := range []load.Workload{
			{Messages: 0, Keys: 1, Size: 300},
			{Messages: 1, Keys: 0, Size: 300},
			{Messages: 1, Keys: 1, Size: 19},
			{Messages: 1, Keys: 1, Size: 300, Spread: "wide"},
			{Messages: 100_000_000, Keys: 1, Size: 300},
		} {
			if bad.Check() == nil {
				t.Errorf("%v was accepted", bad)
			}
		}
	})
}

func TestChecker(t *testing.T) {
	t.Parallel()
	w := load.Workload{Messages: 5, Keys: 2, Size: 300}
	const a0, a1, a2, b0, b1 = "00000000 00000000 x", "00000000 00000001 x", "00000000 00000002 x",
		"00000001 00000000 x", "00000001 00000001 x"

	for _, test := range []struct {
		name    string
		arrived []string
		want    load.Verdict
		says    string
	}{
		{"finds_keys_mixed_but_each_in_order", []string{b0, a0, a1, b1, a2}, load.Verdict{Delivered: 5}, "ordered"},
		{"finds_a_message_behind_a_later_one", []string{a0, a2, a1, b0, b1}, load.Verdict{Delivered: 5, Misordered: 1}, "UNORDERED (1)"},
		{"counts_each_message_that_a_later_one_overtook", []string{a2, a0, a1, b0, b1}, load.Verdict{Delivered: 5, Misordered: 2}, "UNORDERED (2)"},
		{"finds_what_is_missing", []string{a0, a2, b0}, load.Verdict{Delivered: 3, Missing: 2}, "LOSSY (2), ordered"},
		{"finds_nothing_at_all", nil, load.Verdict{Missing: 5}, "LOSSY (5), ordered"},
		{"takes_repeats_for_duplicates_and_not_for_disorder", []string{a0, a1, a0, a1, a2, b0, b1}, load.Verdict{Delivered: 5, Duplicates: 2}, "ordered, 2 duplicates"},
		{"sees_that_a_duplicate_hides_no_loss", []string{a0, a0, a1, b0, b1}, load.Verdict{Delivered: 4, Missing: 1, Duplicates: 1}, "LOSSY (1), ordered, 1 duplicates"},
		{"sets_apart_what_is_not_of_the_workload", []string{"hello", "", "0000000x 00000000 x", a0, a1, a2, b0, b1}, load.Verdict{Delivered: 5, Foreign: 3}, "ordered, 3 FOREIGN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := load.NewChecker(w)
			for _, body := range test.arrived {
				c.Observe([]byte(body))
			}
			if diff := cmp.Diff(test.want, c.Verdict()); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if got := c.Verdict().String(); got != test.says {
				t.Errorf("says %q, want %q", got, test.says)
			}
			if got, want := c.Complete(), test.want.Missing == 0; got != want {
				t.Errorf("complete = %v, want %v", got, want)
			}
		})
	}

	t.Run("finds_a_workload_that_was_carried_as_it_was_made_ordered", func(t *testing.T) {
		t.Parallel()
		w := load.Workload{Messages: 2_000, Keys: 50, Size: 64}
		c := load.NewChecker(w)
		for _, body := range bodies(t, w) {
			c.Observe([]byte(body))
		}
		if diff := cmp.Diff(load.Verdict{Delivered: 2_000}, c.Verdict()); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
	})
}

func bodies(t *testing.T, w load.Workload) []string {
	t.Helper()
	var all []string
	for m, err := range w.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(m.Body))
	}
	return all
}
