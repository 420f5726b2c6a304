package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// pauseJSON is a scope that is held back.
type pauseJSON struct {
	Topic  string    `json:"topic"` // empty, as the key, if everything is paused
	Key    string    `json:"key"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// actFlags say who acts and why.
type actFlags struct{ by, reason string }

func (a *actFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&a.reason, "reason", "", "why, for the audit (required)")
	flags.StringVar(&a.by, "by", "", "who, for the audit (default: the user of the system)")
}

func (a *actFlags) act() (outbox.Act, error) {
	if a.by == "" {
		if u, err := user.Current(); err == nil {
			a.by = u.Username
		}
	}
	act := outbox.Act{By: a.by, Reason: a.reason}
	if err := act.Check(); err != nil {
		return act, usageError{fmt.Errorf("say who acts by --by, and why by --reason: %w", err)}
	}
	return act, nil
}

// upon is an act whose object the audit has no column for: its reason tells.
func (a *actFlags) upon(object string) (outbox.Act, error) {
	act, err := a.act()
	if err != nil {
		return act, err
	}
	act.Reason += " (" + object + ")"
	return act, act.Check()
}

type steer = func(*gormstore.Store, context.Context, outbox.Act, outbox.Scope) error

func newPause(t *target) *cobra.Command {
	c := t.steering((*gormstore.Store).Pause)
	c.Use = "pause --all|--topic TOPIC|--key KEY --reason WHY"
	c.Short = "Hold messages back, in order, until they are resumed"
	return c
}

func newResume(t *target) *cobra.Command {
	c := t.steering((*gormstore.Store).Resume)
	c.Use = "resume --all|--topic TOPIC|--key KEY --reason WHY"
	c.Short = "End the pause of exactly this scope"
	return c
}

// steering is a command that changes the pauses, and shows those that there are then.
func (t *target) steering(do steer) *cobra.Command {
	var act actFlags
	var scope outbox.Scope
	var all bool
	c := &cobra.Command{
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := act.act()
			if err != nil {
				return err
			}
			given := slices.DeleteFunc([]bool{all, scope.Topic != "", scope.Key != ""}, func(is bool) bool { return !is })
			if len(given) != 1 {
				return usageError{errors.New("say one of --all, --topic and --key")}
			}
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				if err := do(store, ctx, a, scope); err != nil {
					return err
				}
				return t.printPauses(ctx, c, store)
			})
		},
	}
	act.register(c.Flags())
	c.Flags().BoolVar(&all, "all", false, "everything")
	c.Flags().StringVar(&scope.Topic, "topic", "", "a topic, and what is behind its messages in their keys")
	c.Flags().StringVar(&scope.Key, "key", "", "a key, in whatever topic")
	return c
}

func (t *target) printPauses(ctx context.Context, c *cobra.Command, store *gormstore.Store) error {
	pauses, err := store.Pauses(ctx)
	if err != nil {
		return err
	}
	return t.print(c, struct {
		Pauses []pauseJSON `json:"pauses"`
	}{toPauses(pauses)}, func(w io.Writer) { writePauses(w, pauses) })
}

func toPauses(pauses []outbox.Pause) []pauseJSON {
	list := make([]pauseJSON, len(pauses))
	for i, p := range pauses {
		list[i] = pauseJSON{p.Topic, p.Key, p.By, p.Reason, p.At}
	}
	return list
}

func writePauses(w io.Writer, pauses []outbox.Pause) {
	if len(pauses) == 0 {
		fmt.Fprintln(w, "nothing is paused")
		return
	}
	row(w, "PAUSED", "SINCE", "BY", "REASON")
	for _, p := range pauses {
		row(w, scopeText(p.Scope), instant(p.At), p.By, p.Reason)
	}
}

func scopeText(s outbox.Scope) string {
	switch {
	case s.Topic != "":
		return "topic " + s.Topic
	case s.Key != "":
		return "key " + s.Key
	}
	return "everything"
}
