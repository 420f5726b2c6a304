package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const (
	actBatch = 100                    // messages of one transaction, so that relays are never held up for long
	lookRest = 200 * time.Millisecond // between two looks at what is under way
)

// pace keeps an order from flooding whoever consumes.
type pace struct {
	rate        int
	maxInFlight int
}

func (p *pace) register(flags *pflag.FlagSet) {
	flags.IntVar(&p.rate, "rate", 0, "messages a second at most (default: as fast as the database takes them)")
	flags.IntVar(&p.maxInFlight, "max-in-flight", 0,
		"wait while so many messages of these topics are pending, in flight or retrying (default: do not wait)")
}

func (p *pace) check() error {
	if p.rate < 0 || p.maxInFlight < 0 {
		return usageError{errors.New("--rate and --max-in-flight are not negative")}
	}
	return nil
}

// carryOut acts on messages, batch by batch in their order, and returns how many it changed, also with an error.
func (o *order) carryOut(
	ctx context.Context, c *cobra.Command, store *gormstore.Store, act outbox.Act, messages []matched,
) (changed int, err error) {
	bar := newBar(c, o.name, len(messages))
	defer bar.end()
	topics := map[string]bool{}
	for done := 0; done < len(messages); {
		n := min(actBatch, len(messages)-done)
		if o.rate > 0 {
			n = min(n, o.rate)
		}
		for _, m := range messages[done : done+n] {
			topics[m.topic] = true
		}
		if n, err = o.room(ctx, store, bar, topics, n); err != nil {
			return changed, err
		}
		var ids []uuid.UUID
		for _, m := range messages[done : done+n] {
			ids = append(ids, m.id)
		}
		began := time.Now()
		now, err := o.do(store, ctx, act, ids...)
		changed += now
		if err != nil {
			return changed, err
		}
		done += n
		bar.add(n)
		if o.rate > 0 && done < len(messages) {
			if err := sleepUntil(ctx, began.Add(time.Duration(n)*time.Second/time.Duration(o.rate))); err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// room waits until there is room for some of n messages, and returns for how many.
func (o *order) room(
	ctx context.Context, store *gormstore.Store, bar *bar, topics map[string]bool, n int,
) (int, error) {
	for o.maxInFlight > 0 {
		b, err := store.Backlog(ctx)
		if err != nil {
			return 0, err
		}
		busy := underWay(b, topics)
		if room := o.maxInFlight - busy; room > 0 {
			return min(n, room), nil
		}
		bar.waits(fmt.Sprintf("%s of these topics are pending, in flight or retrying", count(busy, "message")))
		if err := sleepUntil(ctx, time.Now().Add(lookRest)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// underWay counts what relays are to publish of topics.
func underWay(b outbox.Backlog, topics map[string]bool) (n int) {
	for _, c := range b.Counts {
		switch c.Status {
		case outbox.StatusPending, outbox.StatusInFlight, outbox.StatusRetrying:
			if topics[c.Topic] {
				n += c.Messages
			}
		}
	}
	return n
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
