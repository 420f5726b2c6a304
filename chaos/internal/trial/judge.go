//go:build unix

package trial

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/chaos/internal/fault"
	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/verify"
)

// checkBroker counts the connections that are left in RabbitMQ besides those of consumers. Kafka shows none.
func (t *trial) checkBroker(ctx context.Context) error {
	if t.Broker != stage.AMQP {
		return nil
	}
	var left []string
	err := wait.Until(ctx, 30*time.Second, "no connection of a relay is left", func(context.Context) (bool, error) {
		var out string
		err := t.scene.Try(func(tb testing.TB) {
			out = t.scene.RabbitMQ[0].Ctl(tb, "list_connections", "--no-table-headers", "client_properties", "channels")
		})
		left = nil
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "chaos-consumer") {
				left = append(left, line)
			}
		}
		return len(left) == 0, err
	})
	if err != nil {
		t.complain("connections of relays are left in RabbitMQ: %v: %v", err, left)
	}
	return nil
}

// judge adds to the history what is known at the end, and lets the verifier read it.
func (t *trial) judge(ctx context.Context) error {
	end := verify.NewWriter(t.ended)
	if err := t.recordHeld(ctx, end); err != nil {
		return err
	}
	if err := t.recordFaults(ctx, end); err != nil {
		return err
	}
	var histories []io.Reader
	for _, file := range []*os.File{t.committed, t.delivered, t.ended} {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		histories = append(histories, bufio.NewReaderSize(file, 1<<20))
	}
	report, err := verify.Check(verify.Config{}, histories...)
	t.outcome.Report = report
	if err == nil && report.Delivered == 0 {
		t.complain("nothing was delivered, so nothing was shown")
	}
	if err == nil && report.Scattered > 0 {
		t.complain("%d keys came in several partitions", report.Scattered)
	}
	return err
}

// recordHeld records what the outbox holds at the end: what an operator has set aside.
func (t *trial) recordHeld(ctx context.Context, to *verify.Writer) error {
	const page = 500
	for after := int64(0); ; {
		found, err := t.scene.Load.Store().Find(ctx, outbox.Filter{}, after, page)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, r := range found {
			kind := verify.Pending
			switch r.Status {
			case outbox.StatusParked:
				kind = verify.Parked
			case outbox.StatusSkipped:
				kind = verify.Skipped
			}
			reason := fmt.Sprintf("%s: %s", r.LastClass, r.LastError)
			if err := to.Write(verify.Record{Kind: kind, ID: r.ID, Reason: reason}); err != nil {
				return err
			}
			after = r.Number
		}
	}
}

// margin is how long after a fault its effects may begin: time-outs, backoff, a lease, a consumer that lags.
const margin = 20 * time.Second

// recordFaults records what excuses copies.
func (t *trial) recordFaults(ctx context.Context, to *verify.Writer) error {
	claims, err := t.claims(ctx)
	if err != nil {
		return err
	}
	for _, r := range excuses(t.events(), claims) {
		if err := to.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// excuses are the claims that were open in the time of a fault and ended while some of their messages were still
// stored, with the number of those. A copy can come until the last claim of one of them has ended.
func excuses(events []fault.Event, claims []claim) []verify.Record {
	last := map[uuid.UUID]time.Time{} // by message, the end of its last claim
	for _, c := range claims {
		for _, id := range c.ids {
			last[id] = c.ended
		}
	}
	var excuses []verify.Record
	for _, c := range claims {
		if c.remaining == 0 {
			continue
		}
		kinds, until := during(events, c)
		if len(kinds) == 0 {
			continue // nothing excuses it
		}
		for _, id := range c.ids {
			if last[id].After(until) {
				until = last[id]
			}
		}
		excuses = append(excuses, verify.Record{
			Kind: verify.Fault, Fault: strings.Join(kinds, ", "), From: c.claimed, To: until.Add(margin), Bound: c.remaining,
		})
	}
	return excuses
}

// events are the faults of the trial, those included that messages caused.
func (t *trial) events() []fault.Event {
	for _, r := range t.scene.Relays {
		for _, d := range r.Deaths() {
			if d.Point == wire.Fatal {
				t.runner.Add(fault.Event{Kind: "fatal message", From: d.At, To: d.At})
			}
		}
	}
	events := t.runner.Events()
	for _, e := range events {
		t.outcome.Faults[e.Kind]++
	}
	return events
}

// during returns the kinds of faults in whose time a claim was open, and the end of the last of them.
func during(events []fault.Event, c claim) (kinds []string, until time.Time) {
	until = c.ended
	for _, e := range events {
		if e.From.Before(c.ended) && e.To.Add(margin).After(c.claimed) {
			kinds = append(kinds, e.Kind)
			if e.To.After(until) {
				until = e.To
			}
		}
	}
	return kinds, until
}

// claim is one of the log.
type claim struct {
	ids            []uuid.UUID
	claimed, ended time.Time
	remaining      int
}

// claims reads the log of claims, in the order of their beginning.
func (t *trial) claims(ctx context.Context) ([]claim, error) {
	rows, err := t.scene.Load.DB().WithContext(ctx).Raw(`
		SELECT array_to_string(ids, ','), claimed_at, coalesce(ended_at, clock_timestamp()),
		  coalesce(remaining, cardinality(ids))
		FROM chaos_claims ORDER BY claimed_at`).Rows()
	if err != nil {
		return nil, fmt.Errorf("read the log of claims: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var claims []claim
	for rows.Next() {
		var c claim
		var ids string
		if err := rows.Scan(&ids, &c.claimed, &c.ended, &c.remaining); err != nil {
			return nil, err
		}
		for id := range strings.SplitSeq(ids, ",") {
			c.ids = append(c.ids, uuid.MustParse(id))
		}
		claims = append(claims, c)
	}
	return claims, rows.Err()
}
