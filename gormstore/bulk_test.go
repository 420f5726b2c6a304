package gormstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestActOnAll(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		var keys []string
		for i := range 250 {
			keys = append(keys, fmt.Sprint(i))
		}
		f.parked(keys...)
		other := message("other")
		other.Topic = "payments"
		f.store1(other)
		r := f.started()
		r.settle(r.claim(), all(outbox.ParkOne))
		f.enqueue("pending")

		largest := 0
		counted := func(deed outbox.Deed) outbox.Deed {
			return func(i outbox.Inspector, ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
				largest = max(largest, len(ids))
				return deed(i, ctx, act, ids...)
			}
		}
		for _, c := range []struct {
			what   string
			deed   outbox.Deed
			filter outbox.Filter
			want   int
		}{
			{"skip of one", outbox.Inspector.Skip, outbox.Filter{Key: "7"}, 1},
			{"requeue of pending ones", outbox.Inspector.Requeue, outbox.Filter{Status: outbox.StatusPending}, 0},
			{"requeue of a topic", outbox.Inspector.Requeue, outbox.Filter{Topic: "orders"}, 250},
			{"discard of all", outbox.Inspector.Discard, outbox.Filter{}, 1},
		} {
			n, err := outbox.ActOnAll(t.Context(), f.store, counted(c.deed), because, c.filter)
			if n != c.want || err != nil {
				t.Errorf("%s changed %d, %v; want %d", c.what, n, err, c.want)
			}
		}
		if largest != 100 {
			t.Errorf("as many as %d messages at once, want 100", largest)
		}
		if n := f.count("outbox_audit"); n != 252 {
			t.Errorf("%d records, want 252", n)
		}
		if c := r.claim(); len(c.Messages) != 251 {
			t.Errorf("claimed %d messages, want those that were requeued and the pending one", len(c.Messages))
		}
		if _, err := outbox.ActOnAll(t.Context(), f.store, outbox.Inspector.Skip, outbox.Act{}, outbox.Filter{}); err == nil {
			t.Error("nobody acted, and it was no error")
		}
	})
}
