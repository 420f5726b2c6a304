package verify_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/verify"
)

// verdict is a report without its witnesses.
type verdict struct {
	Lost, Uncommitted, Reordered, Misrouted, Duplicates, Unexplained, Excess int
}

func verdictOf(r *verify.Report) verdict {
	return verdict{
		r.Lost.Total, r.Uncommitted.Total, r.Reordered.Total, r.Misrouted.Total,
		r.Duplicates, r.Unexplained.Total, r.Excess.Total,
	}
}

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func at(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }

func id(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

func committed(n int, key string, order int64) verify.Record {
	return verify.Record{Kind: verify.Committed, ID: id(n), Topic: "t", Key: key, Order: order, At: at(n)}
}

func unknown(n int, key string, order int64) verify.Record {
	r := committed(n, key, order)
	r.Kind = verify.Unknown
	return r
}

func told(kind verify.Kind, n int) verify.Record {
	r := verify.Record{Kind: kind, ID: id(n)}
	if kind != verify.Pending && kind != verify.Aborted {
		r.Reason = "because"
	}
	return r
}

// delivered is the copy of message n at an offset of the stream t/0, read one second later for each offset.
func delivered(n, offset int) verify.Record {
	return verify.Record{
		Kind: verify.Delivered, ID: id(n), Topic: "t", Stream: "t/0", Offset: int64(offset), At: at(100 + offset),
	}
}

func elsewhere(r verify.Record, stream string) verify.Record {
	r.Stream = stream
	return r
}

func again(r verify.Record) verify.Record {
	r.Redelivered = true
	return r
}

func keyless(r verify.Record) verify.Record {
	r.Keyless = true
	return r
}

func routed(r verify.Record, topic, key string) verify.Record {
	r.Topic, r.Key = topic, key
	return r
}

// faulty is a fault while offsets from to to arrive.
func faulty(from, to, bound int) verify.Record {
	return verify.Record{Kind: verify.Fault, Fault: "kill", From: at(100 + from), To: at(100 + to), Bound: bound}
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		history []verify.Record
		want    verdict
	}{
		"finds_nothing_in_no_history": {},
		"finds_nothing_where_all_is_well": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "b", 1), committed(3, "a", 2), committed(4, "", 0), told(verify.Aborted, 5),
			unknown(6, "a", 3), unknown(7, "b", 2), committed(8, "b", 3), committed(9, "c", 1), committed(10, "c", 2),
			delivered(1, 0), delivered(4, 1), delivered(3, 2), delivered(2, 3), delivered(6, 4), delivered(8, 5),
			told(verify.Parked, 9), told(verify.Pending, 10),
		}},
		"finds_a_message_that_never_came": {history: []verify.Record{committed(1, "a", 1)}, want: verdict{Lost: 1}},
		"misses_nothing_that_is_pending": {history: []verify.Record{
			committed(1, "a", 1), told(verify.Pending, 1),
		}},
		"misses_nothing_that_is_parked": {history: []verify.Record{
			committed(1, "a", 1), told(verify.Parked, 1),
		}},
		"misses_nothing_that_is_skipped": {history: []verify.Record{
			committed(1, "a", 1), told(verify.Skipped, 1),
		}},
		"misses_nothing_that_is_discarded": {history: []verify.Record{
			committed(1, "a", 1), told(verify.Discarded, 1),
		}},
		"misses_nothing_whose_commit_had_no_answer": {history: []verify.Record{unknown(1, "a", 1)}},
		"finds_a_message_that_was_rolled_back": {
			history: []verify.Record{told(verify.Aborted, 1), delivered(1, 0)}, want: verdict{Uncommitted: 1},
		},
		"finds_a_message_that_nobody_enqueued": {
			history: []verify.Record{delivered(1, 0)}, want: verdict{Uncommitted: 1},
		},
		"finds_a_rolled_back_message_in_the_outbox": {
			history: []verify.Record{told(verify.Pending, 1), told(verify.Aborted, 1)}, want: verdict{Uncommitted: 1},
		},
		"takes_the_strongest_outcome_of_an_id": {history: []verify.Record{
			committed(1, "a", 1), told(verify.Aborted, 1), unknown(1, "a", 9), delivered(1, 0), told(verify.Aborted, 2),
			unknown(2, "a", 2),
		}},
		"finds_a_key_out_of_order": {
			history: []verify.Record{committed(1, "a", 1), committed(2, "a", 2), delivered(2, 0), delivered(1, 1)},
			want:    verdict{Reordered: 1},
		},
		"counts_each_message_behind_a_later_one": {
			history: []verify.Record{
				committed(1, "a", 1), committed(2, "a", 2), committed(3, "a", 3), committed(4, "a", 4),
				delivered(1, 0), delivered(4, 1), delivered(2, 2), delivered(3, 3),
			},
			want: verdict{Reordered: 2},
		},
		"goes_by_offsets_however_the_records_lie": {history: []verify.Record{
			delivered(2, 7), delivered(1, 3), committed(2, "a", 2), committed(1, "a", 1),
		}},
		"lets_first_copies_decide_about_order": {
			history: []verify.Record{
				committed(1, "a", 1), committed(2, "a", 2), committed(3, "a", 3), faulty(0, 9, 2),
				delivered(1, 0), delivered(2, 1), delivered(3, 2), delivered(1, 3), delivered(2, 4),
			},
			want: verdict{Duplicates: 2},
		},
		"knows_no_order_between_keys_nor_without": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "b", 2), committed(3, "", 3), committed(4, "", 4),
			delivered(4, 0), delivered(3, 1), delivered(2, 2), delivered(1, 3),
		}},
		"knows_no_order_of_a_message_that_has_no_place_in_it": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "a", 0), committed(3, "a", 3),
			delivered(1, 0), delivered(3, 1), delivered(2, 2),
		}},
		"knows_no_order_between_streams": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "a", 2), delivered(1, 5), elsewhere(delivered(2, 0), "t/1"),
		}},
		"lets_a_skipped_and_a_discarded_message_come_late": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "a", 2), committed(3, "a", 3), delivered(3, 0), delivered(1, 1), delivered(2, 2),
			told(verify.Skipped, 1), told(verify.Discarded, 2),
		}},
		"finds_a_parked_message_that_did_not_hold_its_key": {
			history: []verify.Record{committed(1, "a", 1), committed(2, "a", 2), delivered(2, 0), told(verify.Parked, 1)},
			want:    verdict{Reordered: 1},
		},
		"finds_a_pending_message_that_was_overtaken": {
			history: []verify.Record{
				committed(1, "a", 1), committed(2, "a", 2), committed(3, "a", 3), told(verify.Pending, 2),
				delivered(1, 0), delivered(3, 1),
			},
			want: verdict{Reordered: 1},
		},
		"finds_a_copy_without_a_fault": {
			history: []verify.Record{committed(1, "", 0), delivered(1, 0), delivered(1, 1)},
			want:    verdict{Duplicates: 1, Unexplained: 1},
		},
		"finds_a_copy_outside_the_time_of_the_fault": {
			history: []verify.Record{committed(1, "", 0), faulty(3, 5, 10), delivered(1, 0), delivered(1, 2), delivered(1, 6)},
			want:    verdict{Duplicates: 2, Unexplained: 2},
		},
		"excuses_copies_up_to_the_bound": {
			history: []verify.Record{
				committed(1, "", 0), committed(2, "", 0), faulty(2, 4, 2),
				delivered(1, 0), delivered(2, 1), delivered(1, 2), delivered(1, 3), delivered(2, 4),
			},
			want: verdict{Duplicates: 3, Excess: 1},
		},
		"adds_up_faults_of_one_time": {
			history: []verify.Record{
				committed(1, "", 0), faulty(2, 9, 1), faulty(1, 2, 1), faulty(3, 4, 1),
				delivered(1, 0), delivered(1, 1), delivered(1, 3), delivered(1, 4), delivered(1, 9),
			},
			want: verdict{Duplicates: 4, Excess: 1},
		},
		"takes_a_place_read_twice_for_one": {
			history: []verify.Record{
				committed(1, "", 0), delivered(1, 0), delivered(1, 0), faulty(1, 1, 1), delivered(1, 1), delivered(1, 1),
			},
			want: verdict{Duplicates: 1},
		},
		"takes_what_a_broker_hands_out_again_for_no_copy": {history: []verify.Record{
			committed(1, "a", 1), committed(2, "a", 2), delivered(2, 5), again(delivered(1, 6)), again(delivered(1, 7)),
			again(delivered(2, 0)),
		}},
		"finds_a_message_at_another_topic": {
			history: []verify.Record{committed(1, "a", 1), routed(delivered(1, 0), "u", "")},
			want:    verdict{Misrouted: 1},
		},
		"finds_a_message_that_lost_its_key": {
			history: []verify.Record{
				committed(1, "a", 1), keyless(delivered(1, 0)), committed(2, "", 0), keyless(delivered(2, 1)),
			},
			want: verdict{Misrouted: 1},
		},
		"finds_a_copy_under_another_key": {
			history: []verify.Record{
				committed(1, "a", 1), routed(delivered(1, 0), "t", "a"), routed(delivered(1, 1), "t", "b"), faulty(1, 1, 1),
			},
			want: verdict{Misrouted: 1, Duplicates: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := verify.NewChecker(verify.Config{})
			for _, r := range tt.history {
				if err := c.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a report changes nothing
				r := c.Report()
				if diff := cmp.Diff(tt.want, verdictOf(r)); diff != "" {
					t.Errorf("verdict (-want +got):\n%s", diff)
				}
				want := tt.want
				want.Duplicates = 0
				if r.OK() != (want == verdict{}) {
					t.Errorf("OK is %v for %+v", r.OK(), tt.want)
				}
			}
		})
	}
}

func TestCheck_history(t *testing.T) {
	t.Run("is_read_from_several_files_in_any_order", func(t *testing.T) {
		arrivals := `{"kind":"delivered","id":"00000000-0000-0000-0000-000000000001","topic":"t","stream":"t/0","offset":0,` +
			`"at":"2026-03-01T10:00:01Z","note":"of the recorder"}`
		journal := "\n" + `{"kind":"committed","id":"00000000-0000-0000-0000-000000000001","topic":"t","key":"a","order":1,` +
			`"at":"2026-03-01T10:00:00Z"}` + "\n\n" + `{"kind":"aborted","id":"00000000-0000-0000-0000-000000000002"}`
		r, err := verify.Check(verify.Config{}, strings.NewReader(arrivals), strings.NewReader(journal))
		if err != nil || !r.OK() || r.Committed != 1 || r.Delivered != 1 || r.Aborted != 1 || r.Records != 3 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("is_judged_alike_in_whatever_order_a_place_is_read_again", func(t *testing.T) {
		t.Parallel()
		read, again := delivered(1, 1), delivered(1, 1)
		again.Redelivered, again.At = true, at(90)
		for _, order := range [][]verify.Record{{read, again}, {again, read}} {
			c := verify.NewChecker(verify.Config{})
			for _, r := range append(order, committed(1, "a", 1), committed(2, "a", 2), delivered(2, 0)) {
				if err := c.Add(r); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(verdict{Reordered: 1}, verdictOf(c.Report())); diff != "" {
				t.Errorf("redelivered first: %t (-want +got):\n%s", order[0].Redelivered, diff)
			}
		}
	})
	t.Run("is_refused_at_the_line_that_is_malformed", func(t *testing.T) {
		_, err := verify.Check(verify.Config{}, strings.NewReader(""), strings.NewReader("\n{\"kind\":\"aborted\"\n"))
		var line *verify.LineError
		if !errors.As(err, &line) || line.Line != 2 || !errors.Is(err, verify.ErrMalformed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("is_refused_when_it_contradicts_itself", func(t *testing.T) {
		c := verify.NewChecker(verify.Config{})
		if err := errors.Join(c.Add(committed(1, "a", 1)), c.Add(committed(1, "a", 1))); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(committed(1, "a", 2)); !errors.Is(err, verify.ErrContradiction) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("may_scatter_keys_over_streams_which_are_counted", func(t *testing.T) {
		c := verify.NewChecker(verify.Config{})
		for n, key := range []string{"a", "a", "a", "b", "b", ""} {
			stream := fmt.Sprint("t/", n%2*len(key)) // a in two of them, b in two
			err := errors.Join(c.Add(committed(n+1, key, int64(n+1))), c.Add(elsewhere(delivered(n+1, n), stream)))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(c.Add(committed(9, "c", 1)), c.Add(delivered(9, 9))); err != nil {
			t.Fatal(err)
		}
		r := c.Report()
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if r.Scattered != 2 || !strings.Contains(b.String(), "2 keys came in several") {
			t.Errorf("got %d scattered keys, printed %s", r.Scattered, b.String())
		}
	})
	t.Run("may_hold_foreign_messages_that_are_only_counted", func(t *testing.T) {
		c := verify.NewChecker(verify.Config{Foreign: true})
		if err := errors.Join(c.Add(delivered(1, 0)), c.Add(told(verify.Aborted, 2)), c.Add(delivered(2, 1))); err != nil {
			t.Fatal(err)
		}
		if r := c.Report(); r.Foreign != 1 || r.Uncommitted.Total != 1 {
			t.Errorf("got %+v", r)
		}
	})
}

func TestReport_witnesses(t *testing.T) {
	c := verify.NewChecker(verify.Config{Witnesses: 2})
	for n := 1; n <= 5; n++ {
		if err := c.Add(committed(n, "k\n", int64(n))); err != nil {
			t.Fatal(err)
		}
	}
	for n := 6; n <= 9; n++ {
		if err := errors.Join(c.Add(committed(n, "a", int64(n))), c.Add(delivered(n, 100-n))); err != nil {
			t.Fatal(err)
		}
	}
	r := c.Report()
	t.Run("are_bounded_and_the_total_is_exact", func(t *testing.T) {
		if r.Lost.Total != 5 || len(r.Lost.Witnesses) != 2 || r.Reordered.Total != 3 || len(r.Reordered.Witnesses) != 2 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("tell_both_messages_of_a_broken_order", func(t *testing.T) {
		w := r.Reordered.Witnesses[0]
		if w.Late.ID != id(8) || w.Before.ID != id(9) || w.Late.Offset != 92 || w.Before.Offset != 91 {
			t.Errorf("got %+v", w)
		}
	})
	t.Run("are_printed_with_how_many_more_there_are", func(t *testing.T) {
		var b strings.Builder
		if _, err := r.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"lost: committed, but neither delivered nor in the outbox: 5\n", "and 3 more\n", `key "k\n" order 1 committed`,
			"reordered: behind a later message of the key: 3\n",
			fmt.Sprintf("\n    after %s topic \"t\" key \"a\" order 9", id(9)),
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is missing in:\n%s", want, b.String())
			}
		}
		if strings.Contains(b.String(), "OK") {
			t.Errorf("all is well in:\n%s", b.String())
		}
	})
}
