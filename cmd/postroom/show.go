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
	Message  *messageJSON  `json:"message"`  // null once it is delivered or discarded
	Why      string        `json:"why"`      // what it waits for; empty for one that is not stored
	Delivery *deliveryJSON `json:"delivery"` // of one that is not stored any more; null if it is not in the archive
	Headers  []headerJSON  `json:"headers"`
	Payload  *[]byte       `json:"payload,omitempty"` // in base64, with --payload; null is a tombstone
	Audit    []actJSON     `json:"audit"`             // the oldest first
}

// deliveryJSON is what the archive has of a message.
type deliveryJSON struct {
	Number      int64     `json:"number"`
	Topic       string    `json:"topic"`
	Key         string    `json:"key"`
	CreatedAt   time.Time `json:"created_at"`
	DeliveredAt time.Time `json:"delivered_at"`
	Attempts    int       `json:"attempts"` // before the one that was accepted
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
		Short: "Show one message and what it waits for, or when it was delivered, and what operators did about it",
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

// shown is all that is known of a message.
type shown struct {
	id       uuid.UUID
	record   *outbox.Record      // if it is stored
	why      string              // it still is
	delivery *gormstore.Delivery // if it is in the archive instead
	audit    []outbox.AuditEntry // the oldest first
}

func (t *target) show(ctx context.Context, c *cobra.Command, store *gormstore.Store, id uuid.UUID, payload bool) error {
	s, err := lookUp(ctx, store, id)
	if err != nil {
		return err
	}
	err = t.print(c, s.toJSON(payload), func(w io.Writer) {
		s.write(w, payload)
		writeActs(w, s.audit)
	})
	if err == nil && payload && !t.json && s.record != nil {
		writePayload(c.OutOrStdout(), s.record.Payload)
	}
	return err
}

// lookUp looks for a message among what is stored, then in the archive.
func lookUp(ctx context.Context, store *gormstore.Store, id uuid.UUID) (shown, error) {
	s := shown{id: id}
	found, err := store.Find(ctx, outbox.Filter{ID: id}, 0, 1)
	if err != nil {
		return s, err
	}
	if s.audit, err = store.Audit(ctx, id, 0, mostActs); err != nil {
		return s, err
	}
	slices.Reverse(s.audit)
	if len(found) > 0 {
		s.record = &found[0]
		s.why, err = why(ctx, store, found[0])
		return s, err
	}
	d, delivered, err := store.Delivery(ctx, id)
	if err != nil {
		return s, err
	}
	if delivered {
		s.delivery = &d
	}
	if !delivered && len(s.audit) == 0 {
		return s, fmt.Errorf("no message %s: it was never committed, or was delivered and is not in the archive, "+
			"or is in another outbox (--database, --schema, --name)", id)
	}
	return s, nil
}

func (s shown) toJSON(payload bool) showJSON {
	v := showJSON{Why: s.why, Headers: []headerJSON{}, Audit: toActs(s.audit)}
	if d := s.delivery; d != nil {
		v.Delivery = &deliveryJSON{d.Number, d.Topic, d.Key, d.CreatedAt, d.DeliveredAt, d.Attempts}
	}
	if s.record == nil {
		return v
	}
	m := toMessage(*s.record)
	v.Message = &m
	for _, h := range s.record.Headers {
		v.Headers = append(v.Headers, headerJSON(h))
	}
	if payload {
		v.Payload = &s.record.Payload
	}
	return v
}

// write tells where a message stands, or what has become of it.
func (s shown) write(w io.Writer, payload bool) {
	switch {
	case s.record != nil:
		writeMessage(w, *s.record, s.why, payload)
	case s.delivery != nil:
		writeDelivery(w, *s.delivery)
	case s.audit[len(s.audit)-1].Deed == "discard":
		fmt.Fprintf(w, "message %s was discarded\n", s.id)
	default:
		fmt.Fprintf(w, "message %s is not stored any more: it was delivered and is not in the archive\n", s.id)
	}
}

func writeDelivery(w io.Writer, d gormstore.Delivery) {
	row(w, "id", d.ID)
	row(w, "status", "delivered "+instant(d.DeliveredAt))
	row(w, "topic", d.Topic)
	row(w, "key", d.Key)
	row(w, "number", d.Number)
	row(w, "created", instant(d.CreatedAt))
	row(w, "attempts", fmt.Sprintf("%d before that", d.Attempts))
}

func toActs(entries []outbox.AuditEntry) []actJSON {
	list := make([]actJSON, len(entries))
	for i, e := range entries {
		list[i] = actJSON{e.Number, e.At, e.Deed, e.By, e.Reason, e.Message, e.Topic, e.Key}
	}
	return list
}

func writeMessage(w io.Writer, r outbox.Record, why string, payload bool) {
	row(w, "id", r.ID)
	row(w, "status", r.Status)
	row(w, "why", why)
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
