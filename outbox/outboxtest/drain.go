package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// Drain relays until the store has nothing left that is due, messages that are enqueued meanwhile included, and returns
// nil if the publisher took all of them. It calls the publisher with one message at a time, those of a key in their
// order, from the goroutine of the caller.
//
// A message that the publisher does not take stays in the store as it was, with later ones of its key behind it, and
// its error is part of what Drain returns; nothing is handed over twice. No attempt is counted, and the next Drain
// tries again. Only a permanent error changes the message: it is parked, as a relay would, and its key waits.
// [ErrBusy] means that another relay is at work.
func Drain(ctx context.Context, store outbox.Store, publisher outbox.Publisher) error {
	return withSession(ctx, store, func(s *session) error {
		d := &drain{session: s, publisher: publisher, done: make(map[uuid.UUID]bool), held: make(map[string]bool)}
		for {
			n, err := d.round(ctx)
			if err != nil {
				return errors.Join(append(d.failures, err)...)
			}
			if n == 0 {
				return errors.Join(d.failures...)
			}
		}
	})
}

type drain struct {
	*session
	publisher outbox.Publisher
	done      map[uuid.UUID]bool // handed over and not taken
	held      map[string]bool    // keys behind such a message
	failures  []error
}

// round makes a claim, hands over what was not handed over before, and returns how many messages that were.
func (d *drain) round(ctx context.Context) (int, error) {
	claim, err := d.claim(ctx, false)
	if err != nil {
		return 0, err
	}
	n, err := d.relay(ctx, claim)
	if n > 0 || err != nil || !claim.Suspects {
		return n, err
	}
	claim, err = d.claim(ctx, true)
	if err != nil {
		return 0, err
	}
	return d.relay(ctx, claim)
}

// relay settles the claim also when the publisher panics or ends the test, with what is known by then.
func (d *drain) relay(ctx context.Context, claim outbox.Claim) (n int, err error) {
	outcomes := make([]outbox.Outcome, len(claim.Messages))
	for i, c := range claim.Messages {
		outcomes[i].Claimed = c // zero verdict: released
	}
	defer func() { err = errors.Join(err, d.settle(ctx, claim, outcomes)) }()
	for i, c := range claim.Messages {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		if d.done[c.ID] || c.Key != "" && d.held[c.Key] {
			continue
		}
		n++
		if outcomes[i], err = d.hand(ctx, c); err != nil {
			return n, err
		}
	}
	return n, nil
}

// hand gives one message to the publisher. An error means that the publisher breaks its contract.
func (d *drain) hand(ctx context.Context, c *outbox.Claimed) (outbox.Outcome, error) {
	results := d.publisher.Publish(ctx, []*outbox.Message{c.Message})
	if len(results) != 1 {
		return outbox.Outcome{Claimed: c}, fmt.Errorf("outboxtest: publisher returned %d results for 1 message", len(results))
	}
	o := judge(c, results[0])
	if o.Verdict != outbox.Delivered {
		d.done[c.ID], d.held[c.Key] = true, c.Key != ""
		d.failures = append(d.failures, fmt.Errorf("publish %s %s: %w", c.Type, c.ID, reason(results[0])))
	}
	return o, nil
}

var errNotHandedOver = errors.New("outboxtest: the publisher did not hand it over")

func reason(r outbox.Result) error {
	if r.Err() == nil {
		return errNotHandedOver
	}
	return r.Err()
}

// judge is what becomes of a message: the zero verdict leaves it as it was.
func judge(c *outbox.Claimed, r outbox.Result) outbox.Outcome {
	o := outbox.Outcome{Claimed: c}
	switch {
	case r.Accepted():
		o.Verdict = outbox.Delivered
	case r.Err() != nil && outbox.ClassOf(r.Err()) == outbox.ClassPermanent:
		o.Verdict, o.Class, o.Err = outbox.ParkKey, outbox.ClassPermanent, r.Err()
	}
	return o
}
