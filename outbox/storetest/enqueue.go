package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/postroom/postroom/outbox"
)

var enqueueCases = []Case{
	{
		Name:     "enqueue/stores_what_commits_and_nothing_that_rolls_back",
		Contract: "A message is stored if, and only if, its transaction commits.",
		Check: func(f *Fixture) {
			err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error {
				if err := f.Store.Enqueue(ctx, message("a", "rolled back")); err != nil {
					return err
				}
				return errRollback
			})
			if !errors.Is(err, errRollback) {
				f.Fatalf("got %v, want the error of the function", err)
			}
			f.put(message("a", "committed"))
			f.want("stored", f.join(long).drain(), []string{"committed"})
		},
	},
	{
		Name:     "enqueue/refuses_a_context_without_a_transaction",
		Contract: "Outside a transaction Enqueue returns ErrNoTransaction and stores nothing.",
		Check: func(f *Fixture) {
			if err := f.Store.Enqueue(f.Context(), message("a", "1")); !errors.Is(err, outbox.ErrNoTransaction) {
				f.Errorf("got %v, want ErrNoTransaction", err)
			}
			f.want("stored", f.join(long).drain(), []string(nil))
		},
	},
	{
		Name:     "enqueue/refuses_a_finished_transaction",
		Contract: "The context of a transaction that has ended stores nothing and says ErrTransactionDone.",
		Check: func(f *Fixture) {
			var escaped context.Context
			err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error { escaped = ctx; return nil })
			if err != nil {
				f.Fatal(err)
			}
			if err := f.Store.Enqueue(escaped, message("a", "1")); !errors.Is(err, outbox.ErrTransactionDone) {
				f.Errorf("got %v, want ErrTransactionDone", err)
			}
			f.want("stored", f.join(long).drain(), []string(nil))
		},
	},
	{
		Name:     "enqueue/leaves_the_transaction_usable_after_a_refusal",
		Contract: "A message that is refused touches neither the database nor the transaction.",
		Check: func(f *Fixture) {
			err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error {
				err := f.Store.Enqueue(ctx, message("a", "good"), &outbox.Message{Type: "x"})
				if _, ok := errors.AsType[*outbox.FieldError](err); !ok {
					f.Errorf("got %v, want a *FieldError", err)
				}
				return f.Store.Enqueue(ctx, message("a", "2"))
			})
			if err != nil {
				f.Fatal(err)
			}
			f.want("stored", f.join(long).drain(), []string{"2"})
		},
	},
	{
		Name:     "enqueue/gives_back_every_field_as_it_was",
		Contract: "What is claimed is what was enqueued: id, bytes, order and duplicates of headers, nil apart from empty.",
		Check:    checkRoundTrip,
	},
	{
		Name:     "enqueue/takes_any_number_of_messages_in_their_order",
		Contract: "Messages of one call keep their order within a key; none is a no-op, and no number is too large.",
		Check: func(f *Fixture) {
			f.put()
			var ms []*outbox.Message
			var want []string
			for i := range 3000 {
				ms = append(ms, message("a", fmt.Sprint(i)))
				want = append(want, fmt.Sprint(i))
			}
			f.put(ms...)
			f.want("order", f.join(long).drain(), want)
		},
	},
	{
		Name:     "enqueue/joins_the_transaction_of_its_context",
		Contract: "InTransaction joins a transaction that its context carries: all commits or none.",
		Check: func(f *Fixture) {
			err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error {
				err := f.Store.InTransaction(ctx, func(ctx context.Context) error {
					return f.Store.Enqueue(ctx, message("a", "1"))
				})
				if err != nil {
					return err
				}
				return errRollback
			})
			if !errors.Is(err, errRollback) {
				f.Fatalf("got %v, want the error of the function", err)
			}
			f.want("stored", f.join(long).drain(), []string(nil))
		},
	},
	{
		Name:     "enqueue/rolls_back_as_a_whole_when_a_joined_function_fails",
		Contract: "An error or a panic of a function that joined rolls the transaction back, whatever the outer function returns.",
		Check: func(f *Fixture) {
			for what, fails := range map[string]func(context.Context) error{
				"error": func(context.Context) error { return errRollback },
				"panic": func(context.Context) error { panic("in a joined function") },
			} {
				err := f.Store.InTransaction(f.Context(), func(ctx context.Context) error {
					if err := f.Store.Enqueue(ctx, message("a", what)); err != nil {
						return err
					}
					func() {
						defer func() { _ = recover() }()
						_ = f.Store.InTransaction(ctx, fails)
					}()
					return nil
				})
				if err == nil {
					f.Errorf("%s: got nil from the outer call, want an error", what)
				}
			}
			f.want("stored", f.join(long).drain(), []string(nil))
		},
	},
}

func checkRoundTrip(f *Fixture) {
	full := &outbox.Message{
		ID: uuid.New(), Topic: "orders", Key: "ключ", Type: "OrderPlaced", Version: 3, Payload: []byte{0, 0xff, 'x'},
		ContentType: "application/json", Transport: "rabbit", Tenant: "acme",
		Headers: []outbox.Header{{Name: "b", Value: "1"}, {Name: "a", Value: ""}, {Name: "b", Value: "2"}},
	}
	tombstone, empty := message("", ""), message("", "")
	tombstone.Payload, empty.Payload = nil, []byte{}
	f.put(full, tombstone, empty)
	if tombstone.ID == uuid.Nil {
		f.Error("a message without an id got none")
	}
	got := make(map[uuid.UUID]*outbox.Message)
	for _, m := range f.join(long).claim().Messages {
		if age := time.Since(m.CreatedAt); age < -time.Hour || age > time.Hour {
			f.Errorf("created at %v, want now", m.CreatedAt)
		}
		m.CreatedAt = time.Time{}
		got[m.ID] = m.Message
	}
	if m := got[full.ID]; !reflect.DeepEqual(m, full) {
		f.Errorf("got %+v, want %+v", m, full)
	}
	if m := got[tombstone.ID]; m == nil || m.Payload != nil {
		f.Errorf("tombstone: got %+v, want a nil payload", m)
	}
	if m := got[empty.ID]; m == nil || m.Payload == nil || len(m.Payload) != 0 {
		f.Errorf("empty payload: got %+v, want an empty one that is not nil", m)
	}
}
