package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func newRelease(t *target) *cobra.Command {
	var act actFlags
	var relay string
	c := &cobra.Command{
		Use:   "release --relay LABEL --reason WHY",
		Short: "End the sessions of a relay that is gone, so that others take its lanes at once",
		Long: `End the sessions of a relay, and free their lanes for others, without a wait for the end of the lease.

What the sessions had in flight is claimed again, each message alone: the broker may get it twice. A relay that lives
draws a new session and goes on; stop its process to keep it away.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if relay == "" {
				return usageError{errors.New("say whose sessions by --relay: see 'postroom owners'")}
			}
			a, err := act.upon("relay " + relay)
			if err != nil {
				return err
			}
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				return t.release(ctx, c, store, a, relay)
			})
		},
	}
	act.register(c.Flags())
	c.Flags().StringVar(&relay, "relay", "", "the relay's label")
	return c
}

func (t *target) release(
	ctx context.Context, c *cobra.Command, store *gormstore.Store, act outbox.Act, relay string,
) error {
	sessions, err := store.Sessions(ctx)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(sessions), func(s outbox.Session) bool { return s.Relay != relay })
	if len(own) == 0 {
		return noRelay(relay, sessions)
	}
	if err := store.Record(ctx, act, "release"); err != nil {
		return err
	}
	released := []uuid.UUID{}
	for _, s := range own {
		if err := store.ReleaseLanes(ctx, s.ID); err != nil {
			return fmt.Errorf("after %s: %w", count(len(released), "session"), err)
		}
		released = append(released, s.ID)
	}
	return t.print(c, struct {
		Released []uuid.UUID `json:"released"`
	}{released}, func(w io.Writer) {
		for _, id := range released {
			fmt.Fprintf(w, "ended session %s of %s\n", id, plain(relay))
		}
		fmt.Fprintln(w, "A relay that lives draws a new session: stop its process to keep it away.")
	})
}

func noRelay(relay string, others []outbox.Session) error {
	var labels []string
	for _, s := range others {
		labels = append(labels, s.Relay)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	if len(labels) == 0 {
		return fmt.Errorf("relay %q has no session, and no other has one", relay)
	}
	return fmt.Errorf("relay %q has no session: those that have are %q", relay, labels)
}
