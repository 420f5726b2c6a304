package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// statusJSON is what goes on. A part that is not known has available false and says why; that is not the same as none.
type statusJSON struct {
	Backlog  backlogJSON  `json:"backlog"`
	Sessions sessionsPart `json:"sessions"`
	Pauses   pausesPart   `json:"pauses"`
}

// part says whether the rest of it is known.
type part struct {
	Available bool   `json:"available"`
	Error     string `json:"error"`
}

type backlogJSON struct {
	part
	Capped bool        `json:"capped"` // the counts are lower bounds
	Counts []countJSON `json:"counts"`
}

type countJSON struct {
	Topic         string        `json:"topic"`
	Status        outbox.Status `json:"status"`
	Messages      int           `json:"messages"`
	OldestSeconds float64       `json:"oldest_seconds"`
}

type sessionsPart struct {
	part
	Sessions []sessionJSON `json:"sessions"`
}

type pausesPart struct {
	part
	Pauses []pauseJSON `json:"pauses"`
}

func newStatus(t *target) *cobra.Command {
	var patience time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is stored, who relays it, and what is paused",
		RunE: func(c *cobra.Command, _ []string) error {
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				return t.status(ctx, c, store, patience)
			})
		},
	}
	c.Flags().DurationVar(&patience, "timeout", 10*time.Second, "how long each part may take to be read")
	return c
}

// status shows what it can read, and ends with an error if that is not all.
func (t *target) status(ctx context.Context, c *cobra.Command, store *gormstore.Store, patience time.Duration) error {
	backlog, noBacklog := within(ctx, patience, store.Backlog)
	sessions, noSessions := within(ctx, patience, store.Sessions)
	pauses, noPauses := within(ctx, patience, store.Pauses)
	s := statusJSON{
		Backlog:  backlogJSON{partOf(noBacklog), backlog.Capped, toCounts(backlog)},
		Sessions: sessionsPart{partOf(noSessions), toSessions(sessions)},
		Pauses:   pausesPart{partOf(noPauses), toPauses(pauses)},
	}
	err := t.print(c, s, func(w io.Writer) {
		section(w, "the backlog", noBacklog, func() { writeBacklog(w, backlog) })
		section(w, "who relays", noSessions, func() { writeOwners(w, sessions) })
		section(w, "what is paused", noPauses, func() { writePauses(w, pauses) })
	})
	return once(err, noBacklog, noSessions, noPauses)
}

// once joins errors, of those that say the same the first.
func once(errs ...error) error {
	said := make(map[string]bool)
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || said[err.Error()] {
			return true
		}
		said[err.Error()] = true
		return false
	})...)
}

func within[T any](ctx context.Context, d time.Duration, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return read(ctx)
}

func partOf(err error) part {
	if err != nil {
		return part{Error: err.Error()}
	}
	return part{Available: true}
}

// section writes a part between empty lines, or that it is not known.
func section(w io.Writer, what string, err error, write func()) {
	if what != "the backlog" {
		fmt.Fprintln(w)
	}
	if err != nil {
		fmt.Fprintf(w, "%s is not known: %s\n", what, plain(err.Error()))
		return
	}
	write()
}

func toCounts(b outbox.Backlog) []countJSON {
	list := make([]countJSON, len(b.Counts))
	for i, c := range b.Counts {
		list[i] = countJSON{c.Topic, c.Status, c.Messages, seconds(c.Oldest)}
	}
	return list
}

func writeBacklog(w io.Writer, b outbox.Backlog) {
	if len(b.Counts) == 0 {
		fmt.Fprintln(w, "no message is stored")
		return
	}
	row(w, "TOPIC", "STATUS", "MESSAGES", "OLDEST")
	for _, c := range b.Counts {
		n := fmt.Sprint(c.Messages)
		if b.Capped {
			n = "≥ " + n
		}
		age := "" // of what is not due yet
		if c.Oldest > 0 {
			age = span(c.Oldest)
		}
		row(w, c.Topic, c.Status, n, age)
	}
	if b.Capped {
		fmt.Fprintln(w, "There are more messages than were looked at, so these are lower bounds.")
	}
}
