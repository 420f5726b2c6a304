package gormstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

var because = outbox.Act{By: "an operator", Reason: "a test"}

func TestAct(t *testing.T) {
	t.Run("records_who_did_what_to_which_message_and_why", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.parked("k", "", "other")
			f.act(f.store.Requeue, m[0])
			f.act(f.store.Discard, m[1])
			f.act(f.store.Skip, m[2])
			f.act(f.store.Discard, m[2])
			want := []string{"requeue k", "discard -", "skip other", "discard other"}
			if diff := cmp.Diff(want, f.audited(m...)); diff != "" {
				t.Errorf("audit (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("is_recorded_only_for_messages_that_it_changed", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := append(f.parked("k"), f.enqueue("pending")...)
			n, err := f.store.Requeue(t.Context(), because, append(ids(m...), uuid.New(), m[0].ID)...)
			if n != 1 || err != nil {
				t.Errorf("changed %d, %v; want 1", n, err)
			}
			if diff := cmp.Diff([]string{"requeue k"}, f.audited(m...)); diff != "" {
				t.Errorf("audit (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("on_neither_a_message_nor_a_scope_is_recorded_by_who_does_it", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			if err := f.store.Record(t.Context(), because, "release"); err != nil {
				t.Fatal(err)
			}
			if err := f.store.Record(t.Context(), outbox.Act{By: "an operator"}, "release"); err == nil {
				t.Error("an act without a reason was recorded")
			}
			got, err := f.store.Audit(t.Context(), uuid.Nil, 0, 10)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %+v, %v; want one act", got, err)
			}
			if e := got[0]; e.Deed != "release" || e.Act != because || e.Message != uuid.Nil || e.Scope != (outbox.Scope{}) {
				t.Errorf("got %+v", e)
			}
		})
	})
	t.Run("is_recorded_and_done_in_one_transaction", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.parked("k")
			exec(t, f.db, "ALTER TABLE outbox_blocks RENAME TO outbox_hidden")
			if n, err := f.store.Discard(t.Context(), because, ids(m...)...); n != 0 || err == nil {
				t.Errorf("changed %d, %v; want an error", n, err)
			}
			if n := f.count("outbox_audit"); n != 0 {
				t.Errorf("%d records of what did not happen", n)
			}
			if state := f.field(m[0], "state"); state != "3" {
				t.Errorf("state is %s, want the message parked as before", state)
			}
		})
	})
	t.Run("tells_relays_of_this_process_at_once", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.parked("k")
			news := f.store.Wake(t.Context())
			f.act(f.store.Requeue, m[0])
			want := []int{outbox.LaneOf(m[0], 8)}
			got := await(f, background(func() ([]int, error) { return <-news, nil }))
			if diff := cmp.Diff(want, got.value); diff != "" {
				t.Errorf("lanes (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("keeps_blocks_to_what_the_messages_say", func(t *testing.T) {
		onEach(t, func(t *testing.T, f *fixture) {
			m := f.parked("k", "k", "k")
			f.wantBlock("of the first", m[0])
			f.act(f.store.Skip, m[0])
			f.wantBlock("of the second, after the first was skipped", m[1])
			f.act(f.store.Requeue, m[0])
			f.wantBlock("of the first again", m[0])
			f.act(f.store.Discard, m[1], m[2])
			f.wantBlock("of the first still", m[0])
			r := f.started()
			r.settle(r.claim(), all(outbox.Delivered))
			if n := f.count("outbox_blocks"); n != 0 {
				t.Errorf("%d blocks are left", n)
			}
		})
	})
}

// parked commits messages of keys, one after another, and has each set aside, holding its key.
func (f *fixture) parked(keys ...string) []*outbox.Message {
	f.Helper()
	messages := f.enqueue(keys...)
	r := f.started()
	r.settle(r.claim(), all(outbox.ParkKey))
	if err := f.store.ReleaseLanes(f.Context(), r.id); err != nil {
		f.Fatal(err)
	}
	return messages
}

type actFunc = func(context.Context, outbox.Act, ...uuid.UUID) (int, error)

// act does one thing to messages that are all in the right state.
func (f *fixture) act(do actFunc, messages ...*outbox.Message) {
	f.Helper()
	if n, err := do(f.Context(), because, ids(messages...)...); n != len(messages) || err != nil {
		f.Fatalf("changed %d, %v; want %d", n, err, len(messages))
	}
}

// wantBlock checks that the only key that is blocked is so from m on.
func (f *fixture) wantBlock(what string, m *outbox.Message) {
	f.Helper()
	var seqs []string
	if err := f.db.Raw("SELECT seq FROM outbox_blocks").Scan(&seqs).Error; err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff([]string{f.field(m, "seq")}, seqs); diff != "" {
		f.Errorf("block %s (-want +got):\n%s", what, diff)
	}
}

// audited returns the acts on messages, oldest first, each with the key of its message.
func (f *fixture) audited(messages ...*outbox.Message) []string {
	f.Helper()
	known := map[uuid.UUID]string{}
	for _, m := range messages {
		known[m.ID] = m.Key
	}
	rows, err := f.db.Raw(`SELECT act, a.by, reason, message, topic, coalesce(a.key, '')
		FROM outbox_audit a ORDER BY id`).Rows()
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var acts []string
	for rows.Next() {
		var act, by, reason, topic, key string
		var id uuid.UUID
		if err := rows.Scan(&act, &by, &reason, &id, &topic, &key); err != nil {
			f.Fatal(err)
		}
		if by != because.By || reason != because.Reason || topic != "orders" || known[id] != key {
			f.Errorf("got %q by %q because %q, of %s, %s, %q", act, by, reason, id, topic, key)
		}
		if key == "" {
			key = "-"
		}
		acts = append(acts, act+" "+key)
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return acts
}

// TestActRace: what relays do at the same moment.
func TestActRace(t *testing.T) {
	for name, do := range map[string]func(*fixture) actFunc{
		"discard": func(f *fixture) actFunc { return f.store.Discard },
		"skip":    func(f *fixture) actFunc { return f.store.Skip },
		"requeue": func(f *fixture) actFunc { return f.store.Requeue },
	} {
		t.Run("a_claim_that_waited_for_it_reads_what_it_unblocked/"+name, func(t *testing.T) {
			t.Parallel()
			f := onPostgres(t)
			m := f.parked("k")
			held := f.enqueue("k")[0]
			r := f.started()
			before := f.enqueue(sameLane("k")) // it leads the cursor past what is held
			if diff := cmp.Diff(ids(before...), r.deliver()); diff != "" {
				t.Fatalf("delivered beside a parked message (-want +got):\n%s", diff)
			}
			r.settleDown()
			other := f.enqueue(sameLane("k"))[0] // and so would this one
			acting := f.paused(do(f), m[0])
			claimed := background(func() (outbox.Claim, error) { return f.store.Claim(t.Context(), r.request()) })
			f.waiting(1, "WITH mine")
			acting.resume()
			want, rest := ids(held, other), []uuid.UUID(nil)
			if name == "requeue" {
				want, rest = ids(m[0], other), ids(held)
			}
			c := await(f, claimed)
			if diff := cmp.Diff(want, idsOf(c.value)); diff != "" || c.err != nil {
				t.Fatalf("claimed after the act (-want +got):\n%s%v", diff, c.err)
			}
			r.settle(c.value, all(outbox.Delivered))
			if diff := cmp.Diff(rest, r.deliver(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("delivered then (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a_settle_that_blocks_the_same_key_leaves_the_lower_block", func(t *testing.T) {
		t.Parallel()
		f := onPostgres(t)
		m := f.parked("k")
		f.act(f.store.Skip, m[0])
		second := f.enqueue("k")[0]
		r := f.started()
		c := r.claim()
		if diff := cmp.Diff(ids(second), idsOf(c)); diff != "" {
			t.Fatalf("claimed past the skipped one (-want +got):\n%s", diff)
		}
		acting := f.paused(f.store.Requeue, m[0])
		settled := background(func() (int, error) {
			return f.store.Settle(t.Context(), c, outcomes(c, func(*outbox.Claimed) outbox.Outcome {
				return outbox.Outcome{Verdict: outbox.Retry, RetryIn: time.Hour, Class: outbox.ClassRefused}
			}))
		})
		f.waiting(1, "FOR SHARE")
		acting.resume()
		if s := await(f, settled); s.value != 1 || s.err != nil {
			t.Errorf("settled %d, %v; want 1", s.value, s.err)
		}
		f.wantBlock("of the requeued message", m[0])
	})
}

// pausedAct is an act that has locked its lanes and cannot go on.
type pausedAct struct {
	*fixture
	hold *writer
	done <-chan result[int]
}

// paused begins an act and stops it where it records itself.
func (f *fixture) paused(do actFunc, m *outbox.Message) *pausedAct {
	f.Helper()
	hold := f.writer()
	f.Cleanup(func() { hold.tx.Rollback() }) // when the case ends early
	exec(f, hold.tx, "LOCK TABLE outbox_audit IN ACCESS EXCLUSIVE MODE")
	done := background(func() (int, error) { return do(f.Context(), because, m.ID) })
	f.waiting(1, "outbox_audit")
	return &pausedAct{f, hold, done}
}

func (p *pausedAct) resume() {
	p.Helper()
	p.hold.commit()
	if r := await(p.fixture, p.done); r.value != 1 || r.err != nil {
		p.Fatalf("act: changed %d, %v; want 1", r.value, r.err)
	}
}
