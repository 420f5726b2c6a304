//go:build unix

package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/outbox"
)

// heal takes up what was parked, by its cause, until the outbox holds nothing more to deliver, and until consumers
// have all of it.
func (t *trial) heal(ctx context.Context) error {
	begin := time.Now()
	n, err := t.scene.Load.Resolve(ctx)
	t.outcome.InDoubt = n
	if err != nil {
		return err
	}
	if !t.plain() {
		if err := t.makeTopic(ctx, wire.Nowhere); err != nil {
			return err
		}
		t.recorder.Include(wire.Nowhere)
	}
	left := -1
	err = wait.Until(ctx, drainLimit, "the outbox is empty", func(ctx context.Context) (bool, error) {
		if err := t.release(ctx); err != nil {
			return false, err
		}
		err := t.scene.Load.DB().WithContext(ctx).
			Raw("SELECT count(*) FROM outbox_messages WHERE state <> 5").Scan(&left).Error
		return left == 0, err
	})
	if err != nil {
		return fmt.Errorf("%w: %d messages are left: %s", err, left, t.describe(ctx))
	}
	t.outcome.Recovery = time.Since(begin)
	t.Tell("everything healed: the outbox was empty after %.1f s", t.outcome.Recovery.Seconds())
	return wait.Until(ctx, drainLimit, "consumers have all messages", t.recorder.Drained)
}

// release requeues what can be delivered now, and lets the keys of what never can go on.
func (t *trial) release(ctx context.Context) error {
	store := t.scene.Load.Store()
	for _, step := range []struct {
		deed   outbox.Deed
		reason string
		filter outbox.Filter
	}{
		{outbox.Inspector.Requeue, "the topic is there", outbox.Filter{Topic: wire.Nowhere}},
		{outbox.Inspector.Requeue, "the topic takes messages again", outbox.Filter{Topic: wire.Fragile}},
		{outbox.Inspector.Requeue, "faults killed its relays", outbox.Filter{Type: wire.Plain, Status: outbox.StatusParked}},
		{outbox.Inspector.Requeue, "faults killed its relays", outbox.Filter{Topic: wire.Orders}},
		{outbox.Inspector.Skip, "it kills relays", outbox.Filter{Type: wire.Fatal, Status: outbox.StatusParked}},
		{outbox.Inspector.Skip, "it is too large", outbox.Filter{Type: wire.Large, Status: outbox.StatusParked}},
	} {
		act := outbox.Act{By: "chaos", Reason: step.reason}
		if _, err := outbox.ActOnAll(ctx, store, step.deed, act, step.filter); err != nil {
			return fmt.Errorf("act on parked messages: %w", err)
		}
	}
	return nil
}

// describe tells of the first messages that are left.
func (t *trial) describe(ctx context.Context) string {
	found, err := t.scene.Load.Store().Find(context.WithoutCancel(ctx), outbox.Filter{}, 0, 5)
	if err != nil {
		return err.Error()
	}
	var text string
	for _, r := range found {
		text += fmt.Sprintf("\n  %s topic %s key %s type %s: %s, %d attempts, %d failures, %d crashes, %s: %s",
			r.ID, r.Topic, r.Key, r.Type, r.Status, r.Attempts, r.Failures, r.Crashes, r.LastClass, r.LastError)
	}
	return text
}

// stop ends the processes and looks for what they left behind.
func (t *trial) stop(ctx context.Context) error {
	for _, r := range t.processes() {
		if err := r.Stop(); err != nil && r != t.shop {
			t.complain("%s did not end in order: %v\n%s", r.Name, err, r.Log())
		}
		t.outcome.Problems = append(t.outcome.Problems, r.Problems()...)
	}
	for _, r := range t.scene.Relays {
		t.outcome.Starts += r.Starts()
	}
	const left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'chaos-relay'"
	var n int
	err := wait.Until(ctx, 20*time.Second, "no connection of a relay is left", func(ctx context.Context) (bool, error) {
		err := t.scene.Load.DB().WithContext(ctx).Raw(left).Scan(&n).Error
		return n == 0, err
	})
	if err != nil {
		t.complain("%d connections of relays are left in PostgreSQL: %v", n, err)
	}
	if err := t.checkBroker(ctx); err != nil {
		return err
	}
	return wait.Until(ctx, drainLimit, "consumers have what relays sent last", t.recorder.Drained)
}

func (t *trial) complain(format string, args ...any) {
	t.outcome.Problems = append(t.outcome.Problems, fmt.Sprintf(format, args...))
}
