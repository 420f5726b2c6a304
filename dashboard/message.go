package dashboard

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// messagePage is one message: what it is, what became of it, and what was done about it.
type messagePage struct {
	ID     uuid.UUID
	Record *outbox.Record // nil: it is not stored any more
	Body   body
	Before *outbox.Record // what holds it
	Events []event
	Told   bool // the store tells what operators did
}

// event is one line of a message's history.
type event struct {
	At    time.Time // zero: nobody knows when
	Level string
	What  string
	By    string
	Why   string
}

const (
	auditOfMessage = 50
	shownPayload   = 64 << 10
)

func (d *Dashboard) message(v *visit) (page, error) {
	f := outbox.Filter{WithoutPayload: !v.Payloads}
	if err := f.ID.UnmarshalText([]byte(v.PathValue("id"))); err != nil || f.ID == uuid.Nil {
		return page{}, &refusal{http.StatusNotFound, "This is no id of a message", "An id has 32 digits from 0 to f."}
	}
	found, err := d.store.Find(v.Context(), f, 0, 1)
	if err != nil {
		return page{}, err
	}
	p := messagePage{ID: f.ID, Told: d.store.overseer != nil}
	if len(found) == 1 {
		r := found[0]
		p.Record, p.Body = &r, newBody(r, v.Payloads)
		if p.Before, err = d.holder(v, r); err != nil {
			return page{}, err
		}
	}
	if p.Told {
		entries, err := d.store.overseer.Audit(v.Context(), f.ID, 0, auditOfMessage)
		if err != nil {
			return page{}, err
		}
		for _, e := range slices.Backward(entries) {
			p.Events = append(p.Events, event{At: e.At, What: deeds[e.Deed].past, By: e.By, Why: e.Reason})
		}
	}
	if p.Record == nil && len(p.Events) == 0 {
		return page{}, &refusal{
			http.StatusNotFound, "This message is not stored",
			"It was delivered and removed, or discarded, or there never was one of this id.",
		}
	}
	if p.Record != nil {
		p.Events = historyOf(*p.Record, p.Events)
	}
	return page{"message", "Message " + shortID(f.ID), p}, nil
}

// holder is the first message of the key that stands before one that is held: it, or one behind it, holds.
func (d *Dashboard) holder(v *visit, r outbox.Record) (*outbox.Record, error) {
	if r.Status != outbox.StatusHeld {
		return nil, nil //nolint:nilnil // Nothing holds it.
	}
	first, err := d.store.Find(v.Context(), outbox.Filter{Key: r.Key, WithoutPayload: true}, 0, 1)
	if err != nil || len(first) == 0 || first[0].Number >= r.Number {
		return nil, err
	}
	return &first[0], nil
}

// historyOf puts what the message itself remembers around what operators did. Its attempts are those since it was last
// requeued; their times are not kept.
func historyOf(r outbox.Record, acts []event) []event {
	events := append([]event{{At: r.CreatedAt, What: "Enqueued"}}, acts...)
	if r.Attempts > 0 {
		events = append(events, event{
			Level: "warn", What: plural(r.Attempts, "attempt", "attempts") + " without success", Why: r.LastError,
		})
	}
	return events
}

// body is a payload as a page shows it.
type body struct {
	Hidden bool
	Kind   string // tombstone, empty, JSON, text or bytes
	Text   string
	Size   string
	Cut    bool
}

func newBody(m outbox.Record, allowed bool) body {
	b := body{Hidden: !allowed, Size: formatBytes(m.Size)}
	if !allowed {
		return b
	}
	shown := m.Payload[:min(len(m.Payload), shownPayload)]
	b.Cut = len(shown) < len(m.Payload)
	switch {
	case m.Payload == nil:
		b.Kind = "tombstone"
	case len(m.Payload) == 0:
		b.Kind = "empty"
	case !b.Cut && json.Valid(shown):
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, shown, "", "  ") // it is valid
		b.Kind, b.Text = "JSON", pretty.String()
	case isText(shown, b.Cut):
		b.Kind, b.Text = "text", string(shown)
	default:
		b.Kind, b.Text = "bytes", hex.Dump(shown[:min(len(shown), shownPayload/16)])
		b.Cut = b.Cut || len(shown) > shownPayload/16
	}
	return b
}

// isText lets a rune at the end be cut in two.
func isText(b []byte, cut bool) bool {
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t'
	})
}

// Aside reports whether operators can act on it.
func (p messagePage) Aside() bool { return p.Record != nil && isAside(p.Record.Status) }

// Parked reports whether it holds its key until somebody decides.
func (p messagePage) Parked() bool { return p.Record != nil && p.Record.Status == outbox.StatusParked }
