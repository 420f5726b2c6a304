package verify

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteTo writes the report for people: what was looked at, then each finding with its witnesses, then the verdict.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d committed, %d rolled back, %d without an answer; %d keys\n",
		r.Committed, r.Aborted, r.Unknown, r.Keys)
	fmt.Fprintf(&b, "%d delivered, %d pending, %d parked, %d skipped, %d discarded; %d streams\n",
		r.Delivered, r.Pending, r.Parked, r.Skipped, r.Discarded, r.Streams)
	if r.Foreign > 0 {
		fmt.Fprintf(&b, "%d arrived that nobody known enqueued\n", r.Foreign)
	}
	if r.Scattered > 0 {
		fmt.Fprintf(&b, "%d keys came in several streams, and their order is known within each alone\n", r.Scattered)
	}
	fmt.Fprintf(&b, "%d faults, which excuse %d copies; %d copies\n", r.Faults, r.DuplicateBound, r.Duplicates)

	write(&b, "lost: committed, but neither delivered nor in the outbox", r.Lost, Message.String)
	write(&b, "uncommitted: there without a commit", r.Uncommitted, Message.String)
	write(&b, "reordered: behind a later message of the key", r.Reordered, Reorder.String)
	write(&b, "misrouted: at another topic or key", r.Misrouted, Misroute.String)
	write(&b, "unexplained: copies outside the time of any fault", r.Unexplained, Message.String)
	write(&b, "excess: copies beyond the bound of the faults", r.Excess, Message.String)
	if r.OK() {
		b.WriteString("OK: nothing lost, nothing uncommitted, every key in order, every copy explained\n")
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func write[W any](b *strings.Builder, title string, f Finding[W], text func(W) string) {
	if f.Total == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %d\n", title, f.Total)
	for _, w := range f.Witnesses {
		fmt.Fprintf(b, "  %s\n", text(w))
	}
	if more := f.Total - len(f.Witnesses); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// String tells of the message in one line. Keys are quoted: they are anybody's text.
func (m Message) String() string {
	var b strings.Builder
	b.WriteString(m.ID.String())
	if m.Topic != "" {
		fmt.Fprintf(&b, " topic %q", m.Topic)
	}
	if m.Key != "" {
		fmt.Fprintf(&b, " key %q order %d", m.Key, m.Order)
	}
	if !m.CommittedAt.IsZero() {
		fmt.Fprintf(&b, " committed %s", m.CommittedAt.Format(time.RFC3339Nano))
	}
	if m.Stream != "" {
		fmt.Fprintf(&b, " at %s offset %d %s", m.Stream, m.Offset, m.DeliveredAt.Format(time.RFC3339Nano))
	}
	return b.String()
}

// String tells of both messages.
func (r Reorder) String() string { return r.Late.String() + "\n    after " + r.Before.String() }

// String tells of the message and where it arrived.
func (m Misroute) String() string {
	return fmt.Sprintf("%s\n    arrived at topic %q key %q", m.Message, m.Topic, m.Key)
}
