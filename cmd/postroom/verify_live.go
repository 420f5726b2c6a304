package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

// reader reads what a broker has of a topic, from the time of its opening or from some time before.
type reader interface {
	// follow reads for a while, or until ctx ends.
	follow(ctx context.Context, d time.Duration) error
	// finish reads all that the broker had accepted when it was called.
	finish(ctx context.Context) error
	close()
}

// arrival is a copy of a message as a reader found it.
type arrival struct {
	stream  string
	offset  int64
	at      time.Time
	key     string // where it is on the wire
	keyless bool   // it would be there, and is not
	again   bool   // the broker handed it out before
	headers func(name string) string
}

// look watches the broker and asks the outbox, in an order that makes their answers fit together: what the outbox calls
// delivered before finish is read from the broker by finish, and what it still holds after that was not read.
func (v *verification) look(ctx context.Context) error {
	l, end, err := v.openLedger(ctx)
	if err != nil {
		return err
	}
	defer end()
	v.ledger = l
	r, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	if err := l.begin(ctx, v); err != nil {
		return err
	}
	v.announce()
	if err := r.follow(ctx, v.watch); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt ends the watch; the verdict follows
	if err := l.settled(ctx, v); err != nil {
		return err
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	if err := l.rest(ctx, v); err != nil {
		return err
	}
	if v.nameless > 0 {
		v.note("%d arrived without an id of an outbox", v.nameless)
	}
	return nil
}

func (v *verification) announce() {
	if v.watch > 0 {
		fmt.Fprintf(v.errs, "watching %q for %s; an interrupt ends it earlier\n", v.topic, v.watch)
	}
}

func (v *verification) open(ctx context.Context) (reader, error) {
	switch {
	case v.place.kafka != nil:
		return openKafka(ctx, v)
	case v.stream != "":
		return openStream(ctx, v)
	}
	return openQueue(ctx, v)
}

// arrived takes in a copy.
func (v *verification) arrived(a arrival) error {
	id, _ := uuid.Parse(a.headers(outbox.HeaderID)) // what is no id is the zero one
	if id == uuid.Nil {
		v.nameless++
		return nil
	}
	if v.ledger.dates {
		if err := v.dated(id, a); err != nil {
			return err
		}
	}
	return v.add(verify.Record{
		Kind: verify.Delivered, ID: id, Topic: v.topic, Key: a.key, Keyless: a.keyless, Stream: a.stream, Offset: a.offset,
		At: a.at, Redelivered: a.again,
	})
}

// dated takes the time of creation, which each message carries, for its place in its key's order.
func (v *verification) dated(id uuid.UUID, a arrival) error {
	created, _ := time.Parse(time.RFC3339Nano, a.headers(outbox.HeaderCreatedAt)) // the zero one if it is no time
	if created.IsZero() || a.key == "" {
		return nil
	}
	return v.add(verify.Record{
		Kind: verify.Unknown, ID: id, Topic: v.topic, Key: a.key, Order: created.UnixMicro(), At: created,
	})
}

func (v *verification) add(r verify.Record) error {
	if err := v.checker.Add(r); err != nil {
		return fmt.Errorf("message %s: %w", r.ID, err)
	}
	return nil
}
