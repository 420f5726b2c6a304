package memstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return memstore.New(memstore.Config{}) })
}

// A message is stored once, as a primary key has it.
func TestStore_ids(t *testing.T) {
	t.Parallel()
	m := func() *outbox.Message {
		return &outbox.Message{ID: uuid.UUID{1}, Topic: "orders", Type: "OrderPlaced", Key: "k"}
	}
	for name, enqueue := range map[string]func(context.Context, *memstore.Store) error{
		"refuses_one_that_is_stored": func(ctx context.Context, s *memstore.Store) error {
			return s.Enqueue(ctx, m())
		},
		"refuses_one_that_is_enqueued_twice": func(ctx context.Context, s *memstore.Store) error {
			other := m()
			other.ID = uuid.UUID{2}
			again := *other
			return errors.Join(s.Enqueue(ctx, other), s.Enqueue(ctx, &again))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memstore.New(memstore.Config{})
			for i, enqueue := range []func(context.Context, *memstore.Store) error{
				func(ctx context.Context, s *memstore.Store) error { return s.Enqueue(ctx, m()) }, enqueue,
			} {
				err := s.InTransaction(t.Context(), func(ctx context.Context) error { return enqueue(ctx, s) })
				e, ok := errors.AsType[*outbox.FieldError](err)
				if refused := ok && e.Field == "ID" && e.Code == outbox.CodeDuplicateID; refused != (i == 1) {
					t.Errorf("transaction %d: got %v", i+1, err)
				}
			}
			if n := s.Pending(); n != 1 {
				t.Errorf("%d messages are stored, want the first one alone", n)
			}
		})
	}
}
