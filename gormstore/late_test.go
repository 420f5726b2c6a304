package gormstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/postroom/postroom/outbox"
)

// writer is an application transaction that stays open.
type writer struct {
	*fixture
	tx *gorm.DB
}

func (f *fixture) writer() *writer {
	f.Helper()
	tx := f.db.Begin()
	if tx.Error != nil {
		f.Fatal(tx.Error)
	}
	f.Cleanup(func() { tx.Rollback() }) // when the case ends early
	return &writer{f, tx}
}

// numbered gives the transaction its id, as any other write would.
func (w *writer) numbered() *writer {
	w.Helper()
	exec(w, w.tx, "SELECT pg_current_xact_id()")
	return w
}

func (w *writer) enqueue(key string) *outbox.Message {
	w.Helper()
	m := message(key)
	if err := w.store.In(w.tx).Enqueue(w.Context(), m); err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *writer) commit() {
	w.Helper()
	if err := w.tx.Commit().Error; err != nil {
		w.Fatal(err)
	}
}

// deliver claims and delivers, and returns what it got.
func (r *relay) deliver() []uuid.UUID {
	r.Helper()
	c := r.claim()
	if len(c.Messages) > 0 {
		r.settle(c, all(outbox.Delivered))
	}
	return idsOf(c)
}

// sameLane returns another key of the lane of key.
func sameLane(key string) string {
	for i := 0; ; i++ {
		other := fmt.Sprint(key, i)
		if outbox.LaneOf(message(other), 8) == outbox.LaneOf(message(key), 8) {
			return other
		}
	}
}

func TestLateCommit(t *testing.T) {
	t.Run("comes_before_a_later_message_of_its_key", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			t1 := f.writer()
			late := t1.enqueue("k")
			for range 3 { // the cursor passes the late one's number by far
				other := f.enqueue(sameLane("k"))
				if diff := cmp.Diff(ids(other...), r.deliver()); diff != "" {
					t.Fatalf("delivered (-want +got):\n%s", diff)
				}
			}
			t1.commit()
			after := f.enqueue("k")[0] // its writer waited for the first one
			if diff := cmp.Diff(ids(late, after), r.deliver()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	})
	for name, more := range map[string]int{
		"is_found_when_the_snapshot_did_not_list_its_writer":            0,
		"is_found_when_only_the_snapshots_after_that_listed_its_writer": 2,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onPostgres(t)
			r := f.started()
			before := f.enqueue("a", "b", "c")
			if diff := cmp.Diff(ids(before...), r.deliver()); diff != "" {
				t.Fatalf("delivered (-want +got):\n%s", diff)
			}
			// y has the lower id and the higher number; x runs, but is not below the snapshot's xmax once y has ended.
			y, x := f.writer().numbered(), f.writer()
			late := x.enqueue("k")
			early := y.enqueue(sameLane("k"))
			y.commit()
			if diff := cmp.Diff(ids(early), r.deliver()); diff != "" {
				t.Fatalf("delivered (-want +got):\n%s", diff)
			}
			for range more { // its id and numbers are below everything that these see
				if other := f.enqueue(sameLane("k")); len(r.deliver()) != len(other) {
					t.Fatal("an open writer held up another message")
				}
			}
			x.commit()
			if diff := cmp.Diff(ids(late), r.deliver()); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("is_found_by_whichever_worker_has_the_lane_next", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			half := func(i int) func(*outbox.ClaimRequest) {
				return func(q *outbox.ClaimRequest) { q.Lanes = q.Lanes[4*i : 4*i+4] }
			}
			t1 := f.writer()
			var late []*outbox.Message
			for i := range 16 {
				late = append(late, t1.enqueue(fmt.Sprint("k", i)))
			}
			for range 3 {
				f.enqueue("a", "b", "c", "d", "e", "f", "g", "h")
				for i := range 2 {
					r.settle(r.claim(half(i)), all(outbox.Delivered))
				}
			}
			t1.commit()
			if got := len(r.deliver()); got != len(late) {
				t.Errorf("delivered %d late messages, want %d", got, len(late))
			}
		})
	})
	t.Run("is_found_by_a_claim_of_its_lane_alone", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			random := rand.New(rand.NewPCG(1, 2))
			var open []*writer
			late := map[*writer]*outbox.Message{}
			for i := range 60 {
				var committed *outbox.Message
				switch n := random.IntN(4); {
				case n == 0 && len(open) < 4:
					w := f.writer()
					late[w] = w.enqueue(fmt.Sprint("late", i))
					open = append(open, w)
					continue
				case n <= 1 && len(open) > 0:
					w := open[random.IntN(len(open))]
					w.commit()
					open = slices.DeleteFunc(open, func(o *writer) bool { return o == w })
					committed = late[w]
				case n == 2:
					if c := r.claim(); len(c.Messages) > 0 {
						t.Fatalf("step %d: a claim of all lanes found %d messages that claims of their lanes did not", i, len(c.Messages))
					}
					continue
				default:
					committed = f.enqueue(fmt.Sprint("k", i))[0]
				}
				c := r.claim(func(q *outbox.ClaimRequest) {
					q.Lanes = slices.DeleteFunc(q.Lanes, func(l outbox.Lease) bool { return l.Lane != outbox.LaneOf(committed, 8) })
				})
				if diff := cmp.Diff(ids(committed), idsOf(c)); diff != "" {
					t.Fatalf("step %d (-want +got):\n%s", i, diff)
				}
				r.settle(c, all(outbox.Delivered))
			}
			for _, w := range open {
				w.commit()
			}
		})
	})
	t.Run("costs_nothing_while_its_writer_is_open", func(t *testing.T) {
		onServers(t, func(t *testing.T, f *fixture) {
			r := f.started()
			t1 := f.writer()
			t1.enqueue("k")
			for i := range 20 {
				if got := f.enqueue(fmt.Sprint("other", i)); len(r.deliver()) != len(got) {
					t.Fatal("an open writer held up an unrelated message")
				}
			}
			t1.commit()
		})
	})
}
