package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

const ledgerPage = 1000 // messages that are read at a time

// ledger is what the outbox itself knows of a topic. Without a store there is none, and files have to tell, or nobody.
type ledger struct {
	store    *gormstore.Store
	from     time.Time // by the database's clock, as all times here: what was delivered or, newly, created from then on
	newly    bool      // counts as missing when it was not read
	dates    bool      // the order of a key is that of creation, since no archive has the numbers
	repeated int
}

// openLedger connects to the database unless files say what was committed.
func (v *verification) openLedger(ctx context.Context) (*ledger, func(), error) {
	if len(v.files) > 0 {
		return &ledger{}, func() {}, nil
	}
	store, _, end, err := v.target.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &ledger{store: store, newly: v.place.kafka == nil && v.stream == ""}, end, nil
}

// begin notes the time once the reader is open, and looks whether there is an archive.
func (l *ledger) begin(ctx context.Context, v *verification) error {
	if l.store == nil {
		return nil
	}
	now, err := l.store.Now(ctx)
	if err != nil {
		return err
	}
	l.from = now
	if !l.newly {
		l.from = now.Add(-v.since)
	}
	l.dates = true
	for _, err := range l.store.Delivered(ctx, v.topic, v.since+2*v.slack) {
		if err != nil {
			return err
		}
		l.dates = false
		break
	}
	if l.dates {
		v.note("the archive has nothing of topic %q: what is missing cannot be told, and order is judged by the time of "+
			"creation (set gormstore.Config.Archive in the relays to know more)", v.topic)
	}
	return nil
}

// settled adds what the outbox calls delivered.
func (l *ledger) settled(ctx context.Context, v *verification) error {
	if l.store == nil {
		return nil
	}
	return l.archive(ctx, v, func(d gormstore.Delivery) verify.Kind {
		decisive := d.DeliveredAt
		if l.newly {
			decisive = d.CreatedAt
		}
		if decisive.Before(l.from) {
			return verify.Unknown // the reader may have begun behind it
		}
		return verify.Committed
	})
}

// rest adds what the outbox still holds, what was settled meanwhile, and what operators let go of.
func (l *ledger) rest(ctx context.Context, v *verification) error {
	if l.store == nil {
		return nil
	}
	if err := l.held(ctx, v); err != nil {
		return err
	}
	late := func(gormstore.Delivery) verify.Kind { return verify.Unknown }
	if err := l.archive(ctx, v, late); err != nil {
		return err
	}
	if l.repeated > 0 {
		v.note("%d ids were enqueued again after they had been delivered: copies of theirs are no fault of the relay",
			l.repeated)
	}
	return l.acts(ctx, v)
}

func (l *ledger) archive(ctx context.Context, v *verification, kind func(gormstore.Delivery) verify.Kind) error {
	now, err := l.store.Now(ctx)
	if err != nil {
		return err
	}
	for d, err := range l.store.Delivered(ctx, v.topic, now.Sub(l.from)+2*v.slack) {
		if err != nil {
			return err
		}
		inOrder := !d.Scheduled || d.Attempts > 0
		if err := l.add(v, kind(d), d.ID, d.Key, l.order(d.Number, d.CreatedAt, inOrder), d.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}

// order returns the place of a message in its key's order. A scheduled one has none.
func (l *ledger) order(number int64, created time.Time, inOrder bool) int64 {
	switch {
	case !inOrder:
		return 0
	case l.dates:
		return created.UnixMicro()
	}
	return number
}

func (l *ledger) add(v *verification, kind verify.Kind, id uuid.UUID, key string, order int64, at time.Time) error {
	err := v.add(verify.Record{Kind: kind, ID: id, Topic: v.topic, Key: key, Order: order, At: at})
	if errors.Is(err, verify.ErrContradiction) {
		l.repeated++
		return nil
	}
	return err
}

func (l *ledger) held(ctx context.Context, v *verification) error {
	for after := int64(0); ; {
		page, err := l.store.Find(ctx, outbox.Filter{Topic: v.topic, WithoutPayload: true}, after, ledgerPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			inOrder := r.AvailableAt.IsZero() || r.Attempts > 0
			order := l.order(r.Number, r.CreatedAt, inOrder)
			if err := l.add(v, verify.Committed, r.ID, r.Key, order, r.CreatedAt); err != nil {
				return err
			}
			if err := v.add(heldRecord(r)); err != nil {
				return err
			}
		}
		after = page[len(page)-1].Number
	}
}

func heldRecord(r outbox.Record) verify.Record {
	reason := cmp.Or(r.LastError, string(r.LastClass), "not recorded")
	switch r.Status {
	case outbox.StatusParked:
		return verify.Record{Kind: verify.Parked, ID: r.ID, Reason: reason}
	case outbox.StatusSkipped:
		return verify.Record{Kind: verify.Skipped, ID: r.ID, Reason: reason}
	}
	return verify.Record{Kind: verify.Pending, ID: r.ID}
}

// acts adds what operators skipped or discarded, which may arrive late and out of order.
func (l *ledger) acts(ctx context.Context, v *verification) error {
	overseer, ok := any(l.store).(outbox.Overseer)
	if !ok {
		return nil
	}
	for before := int64(0); ; {
		page, err := overseer.Audit(ctx, uuid.Nil, before, ledgerPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			if a.At.Before(l.from.Add(-2 * v.slack)) {
				return nil
			}
			kind := map[string]verify.Kind{"skip": verify.Skipped, "discard": verify.Discarded}[a.Deed]
			if kind == "" || a.Message == uuid.Nil {
				continue
			}
			if err := v.add(verify.Record{Kind: kind, ID: a.Message, Reason: a.Reason}); err != nil {
				return err
			}
		}
		before = page[len(page)-1].Number
	}
}
