package verify

import (
	"time"

	"github.com/google/uuid"
)

// Report is the judgement of a history. Its JSON form is stable: fields may be added.
type Report struct {
	Records   int `json:"records"`
	Committed int `json:"committed"` // messages, as all that follow unless they say otherwise
	Aborted   int `json:"aborted"`
	Unknown   int `json:"unknown"`
	Delivered int `json:"delivered"`
	Pending   int `json:"pending"` // neither delivered nor set aside
	Parked    int `json:"parked"`
	Skipped   int `json:"skipped"`
	Discarded int `json:"discarded"`
	Foreign   int `json:"foreign"` // arrived, enqueued by nobody known; see Config.Foreign
	Faults    int `json:"faults"`
	Keys      int `json:"keys"` // topics with a key
	Streams   int `json:"streams"`
	// Scattered counts keys whose messages arrived in several streams, as after a change of a topic's partitions. Each
	// stream was judged by itself: nobody knows the order between them.
	Scattered int `json:"scattered"`

	// Lost was committed, did not arrive, and the outbox neither holds it nor was told to let it go.
	Lost Finding[Message] `json:"lost"`
	// Uncommitted arrived, or is in the outbox, though its transaction rolled back or nobody enqueued it.
	Uncommitted Finding[Message] `json:"uncommitted"`
	// Reordered arrived after a later message of its key, or still waits though that has arrived.
	Reordered Finding[Reorder] `json:"reordered"`
	// Misrouted arrived at another topic, or under another key, than it was committed for.
	Misrouted Finding[Misroute] `json:"misrouted"`

	// Duplicates counts copies beyond the first of each message. DuplicateBound is how many all faults together excuse.
	Duplicates     int `json:"duplicates"`
	DuplicateBound int `json:"duplicate_bound"`
	// Unexplained are copies that arrived when there was no fault.
	Unexplained Finding[Message] `json:"unexplained"`
	// Excess are copies that arrived in the time of a fault, beyond its bound.
	Excess Finding[Message] `json:"excess"`
}

// Finding is one kind of fault of the outbox: how often, and some examples.
type Finding[W any] struct {
	Total     int `json:"total"`
	Witnesses []W `json:"witnesses,omitempty"`
}

// Message is a message as the history has it. What is not known is left out.
type Message struct {
	ID          uuid.UUID `json:"id"`
	Topic       string    `json:"topic,omitempty"`
	Key         string    `json:"key,omitempty"`
	Order       int64     `json:"order,omitempty"`
	CommittedAt time.Time `json:"committed_at,omitzero"`
	Stream      string    `json:"stream,omitempty"` // where the copy in question arrived
	Offset      int64     `json:"offset,omitempty"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
}

// Reorder is a message and a later one of its key that arrived before it.
type Reorder struct {
	Late   Message `json:"late"`
	Before Message `json:"before"`
}

// Misroute is a message and where it arrived.
type Misroute struct {
	Message Message `json:"message"`
	Topic   string  `json:"topic"`
	Key     string  `json:"key,omitempty"`
}

// OK reports that the outbox kept its promises.
func (r *Report) OK() bool {
	return r.Lost.Total+r.Uncommitted.Total+r.Reordered.Total+r.Misrouted.Total+r.Unexplained.Total+r.Excess.Total == 0
}

// Report judges what was added so far.
func (c *Checker) Report() *Report {
	c.settle()
	r := &Report{
		Records: c.records, Faults: len(c.faults), Duplicates: len(c.copies), Streams: len(c.streams.values),
	}
	for _, to := range c.routes.values {
		if to.key != "" {
			r.Keys++
		}
	}
	for _, f := range c.faults {
		r.DuplicateBound += f.bound
	}
	for i := range c.messages {
		c.judge(r, &c.messages[i])
	}
	for _, d := range c.copies {
		c.misrouted(r, &c.messages[d.message], d.place)
	}
	r.Scattered = c.scattered()
	c.reorders(func(late, before uint32) {
		x, y := &c.messages[late], &c.messages[before]
		add(c, &r.Reordered, func() Reorder { return Reorder{c.show(x, x.first), c.show(y, y.first)} })
	})
	c.unexcused(c.copied(&r.Unexplained), c.copied(&r.Excess))
	return r
}

// judge counts a message, and finds it lost, uncommitted or misrouted.
func (c *Checker) judge(r *Report, m *message) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	count(&r.Committed, m.outcome == committed)
	count(&r.Aborted, m.outcome == aborted)
	count(&r.Unknown, m.outcome == unknown)
	count(&r.Delivered, m.arrived())
	count(&r.Pending, m.held == pending && !m.arrived())
	count(&r.Parked, m.held&parked != 0)
	count(&r.Skipped, m.held&skipped != 0)
	count(&r.Discarded, m.held&discarded != 0)

	show := func() Message { return c.show(m, m.first) }
	there := m.arrived() || m.held != 0
	switch {
	case m.outcome == committed && !there:
		add(c, &r.Lost, show)
	case m.outcome == unheard && there && c.config.Foreign:
		r.Foreign++
	case m.outcome < unknown && there:
		add(c, &r.Uncommitted, show)
	}
	if m.arrived() {
		c.misrouted(r, m, m.first)
	}
}

// misrouted looks where a copy arrived. A reader may not know keys, and then tells none.
func (c *Checker) misrouted(r *Report, m *message, p place) {
	want, got := c.routes.name(m.route), c.routes.name(p.route)
	untold := got.key == "" && !p.keyless
	if m.outcome < unknown || want == got || want.topic == got.topic && untold {
		return
	}
	add(c, &r.Misrouted, func() Misroute { return Misroute{c.show(m, p), got.topic, got.key} })
}

func (c *Checker) copied(to *Finding[Message]) func(delivery) {
	return func(d delivery) {
		add(c, to, func() Message { return c.show(&c.messages[d.message], d.place) })
	}
}

// show tells of a message, and of a copy of it that arrived at p.
func (c *Checker) show(m *message, p place) Message {
	to := c.routes.name(m.route)
	shown := Message{ID: m.id, Order: m.order}
	if m.committedAt != 0 {
		shown.CommittedAt = instant(m.committedAt)
	}
	if p.stream != 0 {
		shown.Stream, shown.Offset, shown.DeliveredAt = c.streams.name(p.stream), p.offset, instant(p.at)
		if m.outcome < unknown {
			to = c.routes.name(p.route)
		}
	}
	shown.Topic, shown.Key = to.topic, to.key
	return shown
}

func instant(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// add counts one more, and keeps it as a witness while there is room.
func add[W any](c *Checker, to *Finding[W], show func() W) {
	to.Total++
	if len(to.Witnesses) < c.config.Witnesses {
		to.Witnesses = append(to.Witnesses, show())
	}
}
