package idempotencytest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

var reserveCases = []Case{
	{
		Name:     "reserve/gives_a_key_to_one_of_many",
		Contract: "Of all that reserve a key at the same time one is its owner, and the others are told who; to lose is no error.",
		Check:    checkOneOfMany,
	},
	{
		Name:     "reserve/tells_an_owner_again_that_the_key_is_its_own",
		Contract: "A call of Reserve whose answer was lost can be repeated.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			if got := o.reserve(long, 1); got.Owner != o.id || got.Answer != nil {
				f.Errorf("reserve again: the key belongs to %v, want %v", got.Owner, o.id)
			}
		},
	},
	{
		Name:     "reserve/keeps_the_owners_fingerprint",
		Contract: "Another request is told the fingerprint of the request that holds the key, not its own.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			if got := f.owner(o.key).reserve(long, 2); got.Fingerprint != (idempotency.Fingerprint{1}) {
				f.Errorf("fingerprint %x, want that of the owner", got.Fingerprint[:2])
			}
		},
	},
	{
		Name:     "reserve/tells_keys_apart_by_every_field",
		Contract: "Requests of another principal, method, route or value never meet.",
		Check: func(f *Fixture) {
			f.holds("k", long)
			for _, key := range []idempotency.Key{
				{Principal: "tenant-2", Method: "POST", Route: "/orders", Value: "k"},
				{Principal: "tenant-1", Method: "PUT", Route: "/orders", Value: "k"},
				{Principal: "tenant-1", Method: "POST", Route: "/payments", Value: "k"},
				{Principal: "tenant-1", Method: "POST", Route: "/orders", Value: "K"},
				{Principal: "tenant-1", Method: "POST", Route: "/orders", Value: "k "},
				{Principal: "tenant-1P", Method: "OST", Route: "/orders", Value: "k"},
			} {
				f.owner(key).wantFree()
			}
		},
	},
	{
		Name:     "reserve/frees_a_key_when_the_lease_of_its_owner_has_run_out",
		Contract: "A crash between reservation and commit frees the key when the lease ends, also for another fingerprint.",
		Check: func(f *Fixture) {
			next := f.holds("k", short).takesOver(long)
			next.wantHeld(next.id, nil)
			if got := next.reserve(long, 3); got.Fingerprint != (idempotency.Fingerprint{2}) {
				f.Errorf("fingerprint %x, want that of the new owner", got.Fingerprint[:2])
			}
		},
	},
}

func checkOneOfMany(f *Fixture) {
	const many = 50
	var won atomic.Int32
	var all sync.WaitGroup
	owners := make([]idempotency.Record, many)
	for i := range many {
		all.Go(func() {
			o := f.owner(keyOf("k"))
			r, err := f.Store.Reserve(f.Context(), idempotency.Reservation{Key: o.key, Owner: o.id, Lease: long})
			if err != nil {
				f.Errorf("reserve beside others: %v", err)
			}
			if r.Owner == o.id {
				won.Add(1)
			}
			owners[i] = r
		})
	}
	all.Wait()
	if won.Load() != 1 {
		f.Errorf("%d of %d own the key, want 1", won.Load(), many)
	}
	for _, r := range owners {
		if r.Owner != owners[0].Owner || r.Answer != nil {
			f.Errorf("told that %v owns the key, another one was told %v", r.Owner, owners[0].Owner)
		}
	}
}

var completeCases = []Case{
	{
		Name:     "complete/gives_the_answer_back_as_it_was",
		Contract: "Once the transaction has committed, whoever reserves the key gets the answer: status, headers and bytes.",
		Check: func(f *Fixture) {
			for value, answer := range map[string]idempotency.Answer{
				"full": created(), "status": {Status: 204}, "omitted": {Status: 200, Omitted: true},
			} {
				o := f.holds(value, long)
				o.finish(answer, long)
				o.wantHeld(o.id, &answer)
			}
		},
	},
	{
		Name:     "complete/is_undone_by_a_rollback",
		Contract: "An answer is recorded if, and only if, its transaction commits; the key stays reserved meanwhile and after.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			err := f.inTransaction(func(ctx context.Context) error {
				if err := o.complete(ctx, created(), long); err != nil {
					return err
				}
				return errRollback
			})
			f.wantError("transaction", err, errRollback)
			o.wantHeld(o.id, nil)
			answer := created()
			o.finish(answer, long)
			o.wantHeld(o.id, &answer)
		},
	},
	{
		Name:     "complete/refuses_an_owner_that_has_lost_the_key",
		Contract: "After another owner has taken over, Complete returns ErrLost and changes nothing.",
		Check: func(f *Fixture) {
			late := f.holds("k", short)
			next := late.takesOver(long)
			err := f.inTransaction(func(ctx context.Context) error { return late.complete(ctx, created(), long) })
			f.wantError("complete late", err, idempotency.ErrLost)
			next.wantHeld(next.id, nil)
			next.finish(created(), long)
			err = f.inTransaction(func(ctx context.Context) error { return late.complete(ctx, created(), long) })
			f.wantError("complete later still", err, idempotency.ErrLost)
		},
	},
	{
		Name:     "complete/refuses_a_key_that_was_released_or_completed",
		Contract: "A key is completed once, and only while it is reserved.",
		Check: func(f *Fixture) {
			o := f.holds("released", long)
			o.release()
			err := f.inTransaction(func(ctx context.Context) error { return o.complete(ctx, created(), long) })
			f.wantError("complete a released key", err, idempotency.ErrLost)
			o = f.holds("completed", long)
			o.finish(created(), long)
			err = f.inTransaction(func(ctx context.Context) error { return o.complete(ctx, created(), long) })
			f.wantError("complete twice", err, idempotency.ErrLost)
		},
	},
	{
		Name:     "complete/accepts_an_owner_that_is_late_but_alone",
		Contract: "A lease that has run out loses nothing until another owner takes the key.",
		Check: func(f *Fixture) {
			o := f.holds("k", time.Millisecond)
			ended := time.Now().Add(10 * time.Millisecond)
			f.eventually("the lease ends", func() bool { return time.Now().After(ended) })
			answer := created()
			o.finish(answer, long)
			o.wantHeld(o.id, &answer)
		},
	},
	{
		Name:     "complete/holds_the_key_until_its_transaction_has_ended",
		Contract: "From Complete to the commit nobody else takes the key, even after the lease.",
		Check:    checkHeldUntilCommit,
	},
	{
		Name:     "complete/refuses_a_context_without_an_open_transaction",
		Contract: "Outside a transaction of the store Complete returns ErrNoTransaction, and after its end ErrTransactionDone.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			f.wantError("complete outside", o.complete(f.Context(), created(), long), outbox.ErrNoTransaction)
			var escaped context.Context
			if err := f.inTransaction(func(ctx context.Context) error { escaped = ctx; return nil }); err != nil {
				f.Fatal(err)
			}
			f.wantError("complete after the end", o.complete(escaped, created(), long), outbox.ErrTransactionDone)
			o.wantHeld(o.id, nil)
		},
	},
	{
		Name:     "complete/frees_the_key_when_the_time_of_the_answer_is_over",
		Contract: "An answer is kept for its time, by the store's clock, and then the key is free.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			o.finish(created(), short)
			next := o.takesOver(long)
			next.wantHeld(next.id, nil)
		},
	},
}

func checkHeldUntilCommit(f *Fixture) {
	o, answer := f.holds("k", short), created()
	other := f.owner(o.key)
	var got idempotency.Record
	reserved := make(chan struct{})
	err := f.inTransaction(func(ctx context.Context) error {
		if err := o.complete(ctx, answer, long); err != nil {
			return err
		}
		ended := time.Now().Add(short)
		f.eventually("the lease ends", func() bool { return time.Now().After(ended) })
		go func() {
			defer close(reserved)
			r, err := f.Store.Reserve(f.Context(), idempotency.Reservation{Key: o.key, Owner: other.id, Lease: long})
			if err != nil {
				f.Errorf("reserve beside the open transaction: %v", err)
			}
			got = r
		}()
		select { // a store may answer at once, or let the other wait for the end of the transaction
		case <-reserved:
		case <-time.After(short):
		}
		return nil
	})
	if err == nil {
		<-reserved
	}
	if err != nil || got.Owner != o.id {
		f.Errorf("transaction: %v; the key belongs to %v, want %v", err, got.Owner, o.id)
	}
	o.wantHeld(o.id, &answer)
}

var releaseCases = []Case{
	{
		Name:     "release/frees_the_key_at_once",
		Contract: "After Release the key is free, whatever was left of the lease.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			o.release()
			o.wantFree()
		},
	},
	{
		Name:     "release/leaves_the_key_of_another_owner_alone",
		Contract: "An owner that has lost the key cannot free it.",
		Check: func(f *Fixture) {
			late := f.holds("k", short)
			next := late.takesOver(long)
			late.release()
			next.wantHeld(next.id, nil)
			late.owner(keyOf("unknown")).release()
		},
	},
	{
		Name:     "release/never_forgets_an_answer",
		Contract: "Release after a commit whose outcome was unknown to the caller leaves the answer.",
		Check: func(f *Fixture) {
			o := f.holds("k", long)
			answer := created()
			o.finish(answer, long)
			o.release()
			o.wantHeld(o.id, &answer)
		},
	},
}
