package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postroom/postroom/outbox"
)

// pageSize bounds the messages that a page reads, payloads included.
const pageSize = 25

// messagesPage is a list of messages that match a filter, oldest number first.
type messagesPage struct {
	search
	Rows []outbox.Record
	pager
}

// pager leads to the other pages of a list.
type pager struct {
	First string
	Next  string // "" at the end
	Back  bool   // this is not the first page
}

// search is what a filter form says, and what the filter is that it means.
type search struct {
	outbox.Filter
	Cause string // of a group of failures: digits apart, all of the error
	Query url.Values
}

func (d *Dashboard) messages(v *visit) (page, error) {
	s, err := readSearch(v)
	if err != nil {
		return page{}, err
	}
	after, err := readNumber(v, "after")
	if err != nil {
		return page{}, err
	}
	s.WithoutPayload = true
	rows, err := d.store.Find(v.Context(), s.Filter, after, pageSize)
	if err != nil {
		return page{}, err
	}
	p := messagesPage{search: s, pager: pager{First: "messages?" + s.Query.Encode(), Back: after > 0}}
	for _, r := range rows {
		if s.matches(r) {
			p.Rows = append(p.Rows, r)
		}
	}
	if len(rows) == pageSize {
		p.Next = "messages?" + s.with("after", strconv.FormatInt(rows[len(rows)-1].Number, 10))
	}
	return page{"messages", "Messages", p}, nil
}

// readNumber reads the place where a page begins; nothing is 0.
func readNumber(v *visit, name string) (int64, error) {
	text := v.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badField(name, "It is a number that a page gave, such as 1200.")
	}
	return n, nil
}

func badField(name, hint string) error {
	return &refusal{http.StatusBadRequest, "The field “" + name + "” is not right", hint}
}

// fields are what a search is made of, as queries name them.
var fields = []string{"status", "topic", "key", "type", "tenant", "class", "error", "older", "id", "cause"}

// readSearch reads a filter from the fields of a form or the query of a link.
func readSearch(v *visit) (search, error) {
	s := search{Query: url.Values{}}
	for _, name := range fields {
		value := v.FormValue(name)
		if name != "cause" { // which is no person's
			value = strings.TrimSpace(value)
		}
		if value != "" {
			s.Query.Set(name, value)
		}
	}
	get := s.Query.Get
	s.Cause = get("cause")
	s.Filter = outbox.Filter{
		Status: outbox.Status(get("status")), Topic: get("topic"), Key: get("key"), Type: get("type"),
		Tenant: get("tenant"), Class: outbox.Class(get("class")), Error: get("error"),
	}
	if s.Key != "" && !v.seesKeys() {
		return s, errForbidden // or one could find out which keys there are
	}
	if older := get("older"); older != "" {
		var err error
		if s.OlderThan, err = time.ParseDuration(older); err != nil || s.OlderThan < 0 {
			return s, badField("older", "Give a duration such as 90s, 10m or 24h.")
		}
	}
	if id := get("id"); id != "" {
		if err := s.ID.UnmarshalText([]byte(id)); err != nil {
			return s, badField("id", "Give a whole id, such as 0198c0de-0000-7000-8000-000000000000.")
		}
	}
	if s.Cause != "" && s.Error == "" {
		s.Error = longestText(s.Cause)
	}
	return s, nil
}

// with is the query with one more field.
func (s search) with(name, value string) string {
	q := url.Values{}
	for k, v := range s.Query {
		q[k] = v
	}
	q.Set(name, value)
	return q.Encode()
}

// ActPath leads to what a deed would do to all that match.
func (s search) ActPath(deed string) string { return "act?" + s.with("deed", deed) }

// Narrowed reports whether anything is asked for.
func (s search) Narrowed() bool { return len(s.Query) > 0 }

// More reports whether one of the rarer fields is set.
func (s search) More() bool {
	return slices.ContainsFunc([]string{"type", "tenant", "class", "older", "id"}, s.Query.Has)
}

// Statuses are what a form offers.
func (search) Statuses() []outbox.Status {
	return []outbox.Status{
		outbox.StatusPending, outbox.StatusInFlight, outbox.StatusRetrying, outbox.StatusSuspect, outbox.StatusHeld,
		outbox.StatusPaused, outbox.StatusParked, outbox.StatusSkipped, outbox.StatusScheduled,
	}
}

// Classes are what a form offers.
func (search) Classes() []outbox.Class {
	return []outbox.Class{
		outbox.ClassRefused, outbox.ClassPermanent, outbox.ClassUnroutable, outbox.ClassUnavailable, outbox.ClassUnknown,
		outbox.ClassRetryAfter,
	}
}

// isAside reports whether operators can act on messages of s.
func isAside(s outbox.Status) bool { return s == outbox.StatusParked || s == outbox.StatusSkipped }
