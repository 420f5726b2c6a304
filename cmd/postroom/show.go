package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const mostActs = 100 // that are shown of one message

// showJSON is one message and what was done about it.
type showJSON struct {
	Message *messageJSON `json:"message"` // null once it is delivered or discarded
	Headers []headerJSON `json:"headers"`
	Payload *[]byte      `json:"payload,omitempty"` // in base64, with --payload; null is a tombstone
	Audit   []actJSON    `json:"audit"`             // the oldest first
}

type headerJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type actJSON struct {
	Number  int64     `json:"number"`
	At      time.Time `json:"at"`
	Deed    string    `json:"deed"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Message uuid.UUID `json:"message"`
	Topic   string    `json:"topic"`
	Key     string    `json:"key"`
}

func newShow(t *target) *cobra.Command {
	var payload bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show one message, and what operators did about it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				return t.show(ctx, c, store, id, payload)
			})
		},
	}
	c.Flags().BoolVar(&payload, "payload", false, "show the payload, too")
	return c
}

func (t *target) show(ctx context.Context, c *cobra.Command, store *gormstore.Store, id uuid.UUID, payload bool) error {
	found, err := store.Find(ctx, outbox.Filter{ID: id}, 0, 1)
	if err != nil {
		return err
	}
	audit, err := store.Audit(ctx, id, 0, mostActs)
	if err != nil {
		return err
	}
	if len(found)+len(audit) == 0 {
		return fmt.Errorf("no message %s: it was delivered, or never committed", id)
	}
	slices.Reverse(audit)
	shown := showJSON{Headers: []headerJSON{}, Audit: toActs(audit)}
	if len(found) > 0 {
		m := toMessage(found[0])
		shown.Message = &m
		for _, h := range found[0].Headers {
			shown.Headers = append(shown.Headers, headerJSON(h))
		}
		if payload {
			shown.Payload = &found[0].Payload
		}
	}
	err = t.print(c, shown, func(w io.Writer) {
		if len(found) == 0 {
			fmt.Fprintf(w, "message %s is not stored any more\n", id)
		} else {
			writeMessage(w, found[0], payload)
		}
		writeActs(w, audit)
	})
	if err == nil && payload && !t.json && len(found) > 0 {
		writePayload(c.OutOrStdout(), found[0].Payload)
	}
	return err
}

func toActs(entries []outbox.AuditEntry) []actJSON {
	list := make([]actJSON, len(entries))
	for i, e := range entries {
		list[i] = actJSON{e.Number, e.At, e.Deed, e.By, e.Reason, e.Message, e.Topic, e.Key}
	}
	return list
}

func writeMessage(w io.Writer, r outbox.Record, payload bool) {
	row(w, "id", r.ID)
	row(w, "status", r.Status)
	row(w, "topic", r.Topic)
	row(w, "key", r.Key)
	row(w, "type", fmt.Sprintf("%s, version %d", r.Type, r.Version))
	row(w, "content type", r.ContentType)
	row(w, "tenant", r.Tenant)
	row(w, "transport", r.Transport)
	row(w, "number, lane", fmt.Sprintf("%d, %d", r.Number, r.Lane))
	row(w, "created", instant(r.CreatedAt))
	if r.DueIn > 0 {
		row(w, "due in", span(r.DueIn))
	}
	row(w, "attempts", fmt.Sprintf("%d, of which %d were refused and %d may have crashed a relay",
		r.Attempts, r.Failures, r.Crashes))
	if r.Uncertain {
		row(w, "uncertain", "a hand-over ended without an answer: the broker may hold a copy")
	}
	if r.LastError != "" || r.LastClass != "" {
		row(w, "last error", fmt.Sprintf("%s: %s", r.LastClass, r.LastError))
	}
	for _, h := range r.Headers {
		row(w, "header", h.Name+" = "+h.Value)
	}
	size := count(len(r.Payload), "byte")
	if r.Payload == nil {
		size = "none, a tombstone"
	}
	if !payload {
		size += ", see --payload"
	}
	row(w, "payload", size)
}

// writePayload shows text as it is, and other bytes as a dump.
func writePayload(w io.Writer, payload []byte) {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	switch {
	case len(payload) == 0:
	case utf8.Valid(payload) && strings.IndexFunc(string(payload), control) < 0:
		fmt.Fprintf(w, "\n%s\n", strings.TrimSuffix(string(payload), "\n"))
	default:
		fmt.Fprintf(w, "\n%s", hex.Dump(payload))
	}
}

func writeActs(w io.Writer, entries []outbox.AuditEntry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintln(w)
	row(w, "AT", "DEED", "BY", "REASON")
	for _, e := range entries {
		row(w, instant(e.At), e.Deed, e.By, e.Reason)
	}
}
