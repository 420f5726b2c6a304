package outboxtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/outboxtest"
)

func TestRequireEnqueued(t *testing.T) {
	t.Parallel()

	t.Run("finds_what_was_committed_and_leaves_it_there", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			outboxtest.RequireEnqueued(t, s)
			put(t, s, placed("a", 1), placed("a", 2), placed("b", 1), placed("", 1))
			for range 2 {
				outboxtest.RequireEnqueued(t, s, placed("b", 1), placed("a", 1), placed("", 1), placed("a", 2))
			}
		})
	})

	t.Run("does_not_see_what_rolled_back_or_waits_for_its_time", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			later := placed("a", 2)
			later.AvailableAt = time.Now().Add(time.Hour)
			put(t, s, placed("a", 1), later)
			failed := errors.New("roll back")
			err := s.InTransaction(t.Context(), func(ctx context.Context) error {
				return errors.Join(s.Enqueue(ctx, placed("a", 3)), failed)
			})
			if !errors.Is(err, failed) {
				t.Fatal(err)
			}
			outboxtest.RequireEnqueued(t, s, placed("a", 1))
		})
	})

	t.Run("compares_what_is_given_alone", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		m := placed("a", 1)
		m.Version, m.ContentType, m.Tenant = 3, "application/json", "t-1"
		m.Headers = []outbox.Header{{Name: "x", Value: "1"}, {Name: "y", Value: "2"}}
		put(t, s, m)
		outboxtest.RequireEnqueued(t, s, &outbox.Message{Type: "OrderPlaced"})
		outboxtest.RequireEnqueued(t, s, &outbox.Message{Headers: []outbox.Header{{Name: "y", Value: "2"}}})
		outboxtest.RequireEnqueued(t, s, m)
		for field, want := range map[string]*outbox.Message{
			"ID":          {ID: uuid.New()},
			"Topic":       {Topic: "other"},
			"Key":         {Key: "other"},
			"Type":        {Type: "other"},
			"Version":     {Version: 4},
			"Payload":     {Payload: []byte{}},
			"ContentType": {ContentType: "other"},
			"Headers":     {Headers: []outbox.Header{{Name: "y", Value: "1"}}},
			"Transport":   {Transport: "other"},
			"Tenant":      {Tenant: "other"},
			"AvailableAt": {AvailableAt: time.Now()},
			"CreatedAt":   {CreatedAt: time.Unix(1, 0)},
		} {
			got := failureOf(t, func(t testing.TB) { outboxtest.RequireEnqueued(t, s, want) })
			if !strings.Contains(got, field) {
				t.Errorf("%s differs: failed with %q", field, got)
			}
		}
	})

	t.Run("says_what_is_missing_too_many_or_other", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1), placed("b", 1))
		for name, c := range map[string]struct {
			want []*outbox.Message
			diff string
		}{
			"missing": {
				[]*outbox.Message{placed("a", 1), placed("b", 1), {Type: "OrderPaid", ContentType: "x"}},
				`- Type="OrderPaid" ContentType="x"`,
			},
			"too many": {
				[]*outbox.Message{placed("a", 1)},
				`+ Topic="orders" Key="b" Type="OrderPlaced" Version=1 Payload={"n":1} ContentType="application/octet-stream"`,
			},
			"other": {
				[]*outbox.Message{placed("a", 1), placed("b", 2)},
				`- Topic="orders" Key="b" Type="OrderPlaced" Payload={"n":2}` + "\n" +
					`+ Topic="orders" Key="b" Type="OrderPlaced" Payload={"n":1}`,
			},
			"twice": {
				[]*outbox.Message{placed("a", 1), placed("a", 1), placed("b", 1)},
				`- Topic="orders" Key="a" Type="OrderPlaced" Payload={"n":1}`,
			},
		} {
			got := failureOf(t, func(t testing.TB) { outboxtest.RequireEnqueued(t, s, c.want...) })
			if _, diff, _ := strings.Cut(got, "\n"); !strings.HasPrefix(diff, c.diff) {
				t.Errorf("%s: failed with\n%s", name, got)
			}
		}
	})

	t.Run("says_which_messages_of_a_key_are_out_of_order", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s store) {
			put(t, s, placed("a", 1), placed("a", 2))
			got := failureOf(t, func(t testing.TB) { outboxtest.RequireEnqueued(t, s, placed("a", 2), placed("a", 1)) })
			if !strings.Contains(got, `key "a": want OrderPlaced {"n":2} before OrderPlaced {"n":1}`) {
				t.Errorf("failed with %q", got)
			}
		})
	})

	t.Run("fails_while_a_relay_runs", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		_, err := s.AcquireLanes(t.Context(), outbox.LaneRequest{Session: uuid.New(), Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		got := failureOf(t, func(t testing.TB) { outboxtest.RequireEnqueued(t, s) })
		if !strings.Contains(got, outboxtest.ErrBusy.Error()) {
			t.Errorf("failed with %q", got)
		}
	})

	t.Run("waits_for_a_session_that_is_about_to_expire", func(t *testing.T) {
		t.Parallel()
		s := memstore.New(memstore.Config{})
		put(t, s, placed("a", 1))
		_, err := s.AcquireLanes(t.Context(), outbox.LaneRequest{Session: uuid.New(), Lease: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		outboxtest.RequireEnqueued(t, s, placed("a", 1))
	})
}
