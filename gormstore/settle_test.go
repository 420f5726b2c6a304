package gormstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func TestSettle(t *testing.T) {
	t.Run("records_each_verdict", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			columns := func(m *outbox.Message) string {
				var list []string
				for _, c := range []string{"state", "attempts", "failures", "uncertain", "last_class", "last_error"} {
					list = append(list, f.field(m, c))
				}
				return strings.NewReplacer("true", "1", "false", "0").Replace(strings.Join(list, " "))
			}
			cases := map[string]struct {
				outcome outbox.Outcome
				want    string
			}{
				"release": {outbox.Outcome{}, "0 0 0 0  "},
				"defer": {
					outbox.Outcome{Verdict: outbox.Defer, RetryIn: time.Hour, Class: outbox.ClassUnavailable, Err: errUndo},
					"2 1 0 0 unavailable undo",
				},
				"unknown": {
					outbox.Outcome{Verdict: outbox.Defer, RetryIn: time.Hour, Class: outbox.ClassUnknown, Err: errUndo},
					"2 1 0 1 unknown undo",
				},
				"retry": {
					outbox.Outcome{Verdict: outbox.Retry, RetryIn: time.Hour, Class: outbox.ClassRefused, Err: errUndo},
					"2 1 1 0 refused undo",
				},
				"park key": {
					outbox.Outcome{Verdict: outbox.ParkKey, Class: outbox.ClassPermanent, Err: errUndo},
					"3 1 1 0 permanent undo",
				},
				"park one": {
					outbox.Outcome{Verdict: outbox.ParkOne, Class: outbox.ClassPermanent, Err: errUndo},
					"5 1 1 0 permanent undo",
				},
			}
			messages := map[string]*outbox.Message{}
			for name := range cases {
				messages[name] = message(name)
				f.store1(messages[name])
			}
			r := f.started()
			n := r.settle(r.claim(), func(m *outbox.Claimed) outbox.Outcome { return cases[m.Key].outcome })
			if n != len(cases)-1 {
				t.Errorf("settled %d, want all but the released one", n)
			}
			for name, c := range cases {
				if diff := cmp.Diff(c.want, columns(messages[name])); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if n := f.count("outbox_blocks"); n != 4 {
				t.Errorf("%d keys are blocked, want 4", n)
			}
		})
	})
	t.Run("keeps_what_is_uncertain_so", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("")[0]
			r := f.started()
			r.settle(r.claim(), func(*outbox.Claimed) outbox.Outcome {
				return outbox.Outcome{Verdict: outbox.Defer, Class: outbox.ClassUnknown, Err: errUndo}
			})
			f.due(m)
			c := r.claim()
			if len(c.Messages) != 1 || c.Messages[0].Attempts != 1 || c.Messages[0].Failures != 0 {
				t.Fatalf("claimed %+v", c.Messages)
			}
			r.settle(c, func(*outbox.Claimed) outbox.Outcome {
				return outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassRefused, Err: errUndo}
			})
			if got := f.field(m, "uncertain"); got != "true" && got != "1" {
				t.Errorf("uncertain is %q", got)
			}
		})
	})
	t.Run("bounds_the_text_of_an_error_and_keeps_it_storable", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("k")[0]
			r := f.started()
			text := "a\x00b\xff" + strings.Repeat("ü", 1000)
			r.settle(r.claim(), func(*outbox.Claimed) outbox.Outcome {
				return outbox.Outcome{Verdict: outbox.ParkKey, Class: outbox.ClassPermanent, Err: errors.New(text)}
			})
			got := f.field(m, "last_error")
			if len(got) > 1024 || !strings.HasPrefix(got, "ab\uFFFDüü") || !strings.HasSuffix(got, "ü") {
				t.Errorf("stored %d bytes: %.20q", len(got), got)
			}
		})
	})
	t.Run("is_lost_when_it_is_repeated", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a", "b")
			r := f.started()
			c := r.claim()
			r.settle(c, all(outbox.Release))
			n, err := f.store.Settle(t.Context(), c, outcomes(c, all(outbox.Delivered)))
			if n != 0 || !errors.Is(err, outbox.ErrClaimLost) {
				t.Errorf("got %d, %v; want ErrClaimLost", n, err)
			}
			f.want(0, 2)
			if got := len(r.deliver()); got != 2 {
				t.Errorf("claimed %d afterwards, want 2", got)
			}
		})
	})
	t.Run("of_an_ended_session_leaves_nothing_behind_in_memory", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			f.enqueue("a")
			r := f.started()
			c := r.claim()
			exec(t, f.db, "UPDATE outbox_sessions SET stopped_at = started_at")
			if err := f.store.RenewLanes(t.Context(), r.id, testLease); !errors.Is(err, outbox.ErrSessionEnded) {
				t.Fatalf("renew: got %v, want ErrSessionEnded", err)
			}
			if n := r.settle(c, all(outbox.Delivered)); n != 1 {
				t.Errorf("settled %d, want 1: nobody has recovered the claim yet", n)
			}
			if n := f.store.Remembered(); n != 0 {
				t.Errorf("%d sessions remembered, want none", n)
			}
		})
	})
	t.Run("counts_what_an_operator_left", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a", "b")
			r := f.started()
			c := r.claim()
			exec(t, f.db, "DELETE FROM outbox_messages WHERE id = ?", f.key(m[0].ID))
			if n := r.settle(c, all(outbox.Delivered)); n != 1 {
				t.Errorf("settled %d, want 1", n)
			}
		})
	})
	t.Run("refuses_outcomes_that_do_not_cover_the_claim", func(t *testing.T) {
		f := newFixture(t, openSQLite(t, gorm.Config{}), 8, gormstore.Config{})
		f.enqueue("a", "b")
		r := f.started()
		c := r.claim()
		list := outcomes(c, all(outbox.Delivered))
		for name, bad := range map[string][]outbox.Outcome{
			"one missing": list[:1],
			"one twice":   {list[0], list[0], list[1]},
		} {
			if _, err := f.store.Settle(t.Context(), c, bad); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		f.want(0, 2)
	})
	t.Run("holds_the_key_of_a_message_that_waits_and_frees_it_afterwards", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("k", "k", "k")
			r := f.started()
			r.settle(r.claim(), func(c *outbox.Claimed) outbox.Outcome {
				if c.ID == m[2].ID {
					return outbox.Outcome{}
				}
				return outbox.Outcome{Verdict: outbox.Retry, RetryIn: time.Hour}
			})
			f.enqueue("k")
			f.due(m[1]) // still behind the first
			if c := r.claim(); len(c.Messages) != 0 {
				t.Fatalf("claimed %v behind a waiting message", idsOf(c))
			}
			f.due(m[0])
			for i := range 2 {
				if diff := cmp.Diff(ids(m[i]), r.deliver()); diff != "" {
					t.Errorf("delivered (-want +got):\n%s", diff)
				}
			}
			if got := len(r.deliver()); got != 2 {
				t.Errorf("delivered %d of the key afterwards, want 2", got)
			}
			if n := f.count("outbox_blocks"); n != 0 {
				t.Errorf("%d keys are still blocked", n)
			}
		})
	})
	t.Run("parks_a_message_that_cannot_be_read_and_goes_on", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.enqueue("a", "b")
			exec(t, f.db, "UPDATE outbox_messages SET headers = ? WHERE id = ?", []byte{9}, f.key(m[0].ID))
			r := f.started()
			if c := r.claim(); len(c.Messages) != 0 {
				t.Fatalf("claimed %v", idsOf(c))
			}
			if diff := cmp.Diff(ids(m[1]), r.deliver()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
			if got := f.field(m[0], "state") + f.field(m[0], "last_class"); got != "3permanent" {
				t.Errorf("state and class are %s", got)
			}
		})
	})
}
