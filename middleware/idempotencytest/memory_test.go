package idempotencytest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/middleware/idempotencytest"
	"github.com/postroom/postroom/outbox/memstore"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	idempotencytest.Run(t, func(*testing.T) idempotencytest.Store {
		return idempotencytest.NewMemory(memstore.New(memstore.Config{}))
	})
}

func TestMemoryRelease(t *testing.T) {
	t.Parallel()

	t.Run("gives_up_its_wait_for_an_open_transaction_when_its_context_ends", func(t *testing.T) {
		t.Parallel()
		store := idempotencytest.NewMemory(memstore.New(memstore.Config{}))
		key, owner := idempotency.Key{Value: "k"}, uuid.New()
		_, err := store.Reserve(t.Context(), idempotency.Reservation{Key: key, Owner: owner, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		err = store.InTransaction(t.Context(), func(ctx context.Context) error {
			if err := store.Complete(ctx, idempotency.Completion{Key: key, Owner: owner, Keep: time.Minute}); err != nil {
				return err
			}
			short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			if err := store.Release(short, key, owner); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("release: %v, want that it waits for the transaction", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
