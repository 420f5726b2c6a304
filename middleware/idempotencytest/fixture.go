package idempotencytest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

// Fixture is one store under test, with the steps that cases are made of. A step that goes wrong ends the case.
type Fixture struct {
	*testing.T
	Store Store
}

// The lease of owners that live through a case, and of those that are to lose their key in it.
const (
	long  = time.Minute
	short = 300 * time.Millisecond
	limit = 20 * time.Second // for what has to happen
)

var errRollback = errors.New("roll back")

// owner is one run of a request.
type owner struct {
	*Fixture
	key idempotency.Key
	id  uuid.UUID
}

func keyOf(value string) idempotency.Key {
	return idempotency.Key{Principal: "tenant-1", Method: "POST", Route: "/orders", Value: value}
}

func (f *Fixture) owner(key idempotency.Key) *owner {
	return &owner{Fixture: f, key: key, id: uuid.New()}
}

// reserve tries to take the key. The fingerprint is that of content.
func (o *owner) reserve(lease time.Duration, content byte) idempotency.Record {
	o.Helper()
	r, err := o.Store.Reserve(o.Context(), idempotency.Reservation{
		Key: o.key, Owner: o.id, Fingerprint: idempotency.Fingerprint{content}, Lease: lease,
	})
	if err != nil {
		o.Fatalf("reserve: %v", err)
	}
	return r
}

// holds returns an owner that has taken the key.
func (f *Fixture) holds(value string, lease time.Duration) *owner {
	f.Helper()
	o := f.owner(keyOf(value))
	if got := o.reserve(lease, 1); got.Owner != o.id {
		f.Fatalf("reserve a free key: it belongs to %v", got.Owner)
	}
	return o
}

// takesOver returns another owner of o's key, once o's lease has run out.
func (o *owner) takesOver(lease time.Duration) *owner {
	o.Helper()
	other := o.owner(o.key)
	o.eventually("the key is free again", func() bool { return other.reserve(lease, 2).Owner == other.id })
	return other
}

func (o *owner) complete(ctx context.Context, a idempotency.Answer, keep time.Duration) error {
	return o.Store.Complete(ctx, idempotency.Completion{Key: o.key, Owner: o.id, Answer: a, Keep: keep})
}

// finish completes in a transaction that commits.
func (o *owner) finish(a idempotency.Answer, keep time.Duration) {
	o.Helper()
	if err := o.inTransaction(func(ctx context.Context) error { return o.complete(ctx, a, keep) }); err != nil {
		o.Fatalf("complete: %v", err)
	}
}

func (f *Fixture) inTransaction(fn func(context.Context) error) error {
	return f.Store.InTransaction(f.Context(), fn)
}

func (o *owner) release() {
	o.Helper()
	if err := o.Store.Release(o.Context(), o.key, o.id); err != nil {
		o.Fatalf("release: %v", err)
	}
}

// wantHeld checks what another request with the key is told.
func (o *owner) wantHeld(by uuid.UUID, answer *idempotency.Answer) {
	o.Helper()
	got := o.owner(o.key).reserve(long, 9)
	want := idempotency.Record{Owner: by, Fingerprint: got.Fingerprint, Answer: answer}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		o.Errorf("record of the key (-want +got):\n%s", diff)
	}
}

// wantFree checks that another request takes the key.
func (o *owner) wantFree() {
	o.Helper()
	next := o.owner(o.key)
	if got := next.reserve(long, 9); got.Owner != next.id || got.Answer != nil {
		o.Errorf("the key belongs to %v, want it free", got.Owner)
	}
}

func (f *Fixture) wantError(what string, got, want error) {
	f.Helper()
	if !errors.Is(got, want) {
		f.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// eventually asks again and again until ok says yes.
func (f *Fixture) eventually(what string, ok func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func created() idempotency.Answer {
	return idempotency.Answer{
		Status: 201,
		Header: map[string][]string{"Location": {"/orders/1"}, "Link": {"</a>", "</b>; t=\"\xe9\""}},
		Body:   []byte("{\"id\":1}\n\x00\xff\n"),
	}
}

func message(payload string) *outbox.Message {
	return &outbox.Message{Topic: "orders", Type: "OrderPlaced", Key: "c-1", Payload: []byte(payload)}
}
