package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// deed is one of the things that an operator does to messages that are set aside.
type deed struct {
	name, past string
	about      string
	do         outbox.Deed
	on         []outbox.Status // that it changes
}

func newRequeue(t *target) *cobra.Command {
	return newDeed(t, deed{
		name: "requeue", past: "requeued", do: outbox.Inspector.Requeue,
		about: "Send messages again that are parked or skipped, before what waits behind them",
		on:    []outbox.Status{outbox.StatusParked, outbox.StatusSkipped},
	})
}

func newDiscard(t *target) *cobra.Command {
	return newDeed(t, deed{
		name: "discard", past: "discarded", do: outbox.Inspector.Discard,
		about: "Remove messages that are parked or skipped, for good",
		on:    []outbox.Status{outbox.StatusParked, outbox.StatusSkipped},
	})
}

func newSkip(t *target) *cobra.Command {
	return newDeed(t, deed{
		name: "skip", past: "skipped", do: outbox.Inspector.Skip,
		about: "Let what waits behind parked messages go on, and keep these",
		on:    []outbox.Status{outbox.StatusParked},
	})
}

// order is what the flags ask for.
type order struct {
	deed
	actFlags
	filterFlags
	pace
	ids      []uuid.UUID
	all, yes bool
}

func newDeed(t *target, d deed) *cobra.Command {
	o := &order{deed: d}
	c := &cobra.Command{
		Use:   d.name + " ID...|--all|FILTER [--yes --reason WHY]",
		Short: d.about,
		Long: d.about + `.

Without --yes it shows what it would change, and changes nothing. With --yes it acts on what matches when it begins, in
the order in which the messages were enqueued, a hundred in a transaction at most, and records who did it and why. It
can be interrupted and called again: it goes on with what is left.`,
		Example: fmt.Sprintf(`  postroom %[1]s --topic orders --error timeout
  postroom %[1]s --topic orders --error timeout --yes --reason "the broker is back" --rate 500`, d.name),
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return t.deed(c, o, args) },
	}
	flags := c.Flags()
	o.filterFlags.register(flags, d.on)
	o.actFlags.register(flags)
	o.pace.register(flags)
	flags.BoolVar(&o.all, "all", false, "all messages that are "+oneOf(d.on))
	flags.BoolVar(&o.yes, "yes", false, "do it, and not only show it")
	return c
}

// check holds the flags against one another before anything is opened.
func (o *order) check(c *cobra.Command, args []string) (f outbox.Filter, act outbox.Act, err error) {
	if f, err = o.filter(o.on); err != nil {
		return f, act, err
	}
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return f, act, err
		}
		o.ids = append(o.ids, id)
	}
	filtered := f != outbox.Filter{}
	switch {
	case !o.all && !filtered && len(args) == 0:
		return f, act, usageError{fmt.Errorf("say what to %s: ids, a filter, or --all", o.name)}
	case len(args) > 0 && (o.all || filtered), o.all && filtered:
		return f, act, usageError{errors.New("say one of ids, a filter, and --all")}
	}
	if err := o.pace.check(); err != nil {
		return f, act, err
	}
	if o.yes || c.Flags().Changed("reason") {
		act, err = o.act()
	}
	return f, act, err
}

// deedJSON is what was done, or, in a dry run, would be.
type deedJSON struct {
	Deed    string        `json:"deed"`
	DryRun  bool          `json:"dry_run"`
	Matched int           `json:"matched"`
	Changed int           `json:"changed"`
	Sample  []messageJSON `json:"sample"` // the first of those that match
	// Unmatched are ids that were named, and cannot be acted on.
	Unmatched []unmatchedJSON `json:"unmatched"`
}

type unmatchedJSON struct {
	ID     uuid.UUID     `json:"id"`
	Status outbox.Status `json:"status"` // empty if it is not stored
}

var errUnmatched = errors.New("some ids were left alone")

func (t *target) deed(c *cobra.Command, o *order, args []string) error {
	f, act, err := o.check(c, args)
	if err != nil {
		return err
	}
	return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
		found, err := o.find(ctx, store, f)
		if err != nil {
			return err
		}
		result := deedJSON{
			Deed: o.name, DryRun: !o.yes, Matched: len(found.messages), Sample: toMessages(found.sample),
			Unmatched: found.unmatched,
		}
		if o.yes {
			result.Changed, err = o.carryOut(ctx, c, store, act, found.messages)
		}
		printed := t.print(c, result, func(w io.Writer) { writeDeed(w, o.deed, result, found.sample) })
		if err != nil {
			return fmt.Errorf("call it again for the rest: %w", err)
		}
		if printed != nil {
			return printed
		}
		if len(found.unmatched) > 0 {
			return findingError{errUnmatched}
		}
		return nil
	})
}

func writeDeed(w io.Writer, d deed, r deedJSON, sample []outbox.Record) {
	for _, u := range r.Unmatched {
		if u.Status == "" {
			fmt.Fprintf(w, "%s is not stored\n", u.ID)
			continue
		}
		fmt.Fprintf(w, "%s is %s: %s changes what is %s\n", u.ID, u.Status, d.name, oneOf(d.on))
	}
	if !r.DryRun {
		fmt.Fprintf(w, "%s %d of %s\n", d.past, r.Changed, count(r.Matched, "message"))
		return
	}
	if r.Matched > 0 {
		writeMessages(w, sample)
		if more := r.Matched - len(sample); more > 0 {
			fmt.Fprintf(w, "… and %d more\n", more)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "would %s %s; nothing is changed without --yes and --reason\n", d.name, count(r.Matched, "message"))
}
