package dashboard_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func (d *demo) lock() (unlock func(), err error) {
	d.mu.Lock()
	return d.mu.Unlock, d.broken
}

func (d *demo) Find(_ context.Context, f outbox.Filter, after int64, limit int) ([]outbox.Record, error) {
	unlock, err := d.lock()
	defer unlock()
	var found []outbox.Record
	for _, r := range d.records {
		if len(found) < limit && r.Number > after && matches(r, f) {
			found = append(found, r)
		}
	}
	return found, err
}

func matches(r outbox.Record, f outbox.Filter) bool {
	for _, pair := range [][2]string{
		{string(f.Status), string(r.Status)},
		{f.Topic, r.Topic},
		{f.Key, r.Key},
		{f.Type, r.Type},
		{f.Tenant, r.Tenant},
		{string(f.Class), string(r.LastClass)},
	} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return (f.ID == uuid.Nil || f.ID == r.ID) && strings.Contains(r.LastError, f.Error) &&
		demoTime.Sub(r.CreatedAt) >= f.OlderThan
}

func (d *demo) Requeue(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return d.act(act, "requeue", ids, func(r *outbox.Record) {
		r.Status, r.Attempts, r.Failures = outbox.StatusRetrying, 0, 0
	})
}

func (d *demo) Skip(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return d.act(act, "skip", ids, func(r *outbox.Record) { r.Status = outbox.StatusSkipped })
}

func (d *demo) Discard(_ context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	return d.act(act, "discard", ids, func(r *outbox.Record) { r.Status = "" })
}

func (d *demo) act(act outbox.Act, deed string, ids []uuid.UUID, do func(*outbox.Record)) (n int, err error) {
	unlock, err := d.lock()
	defer unlock()
	if err = cmp.Or(act.Check(), err); err != nil {
		return 0, err
	}
	for i := range d.records {
		r := &d.records[i]
		aside := r.Status == outbox.StatusParked || r.Status == outbox.StatusSkipped
		if slices.Contains(ids, r.ID) && aside {
			do(r)
			d.record(act, deed, outbox.Scope{Topic: r.Topic, Key: r.Key}, r.ID)
			n++
		}
	}
	d.records = slices.DeleteFunc(d.records, func(r outbox.Record) bool { return r.Status == "" })
	return n, nil
}

func (d *demo) record(act outbox.Act, deed string, scope outbox.Scope, message uuid.UUID) {
	d.audit = append(d.audit, outbox.AuditEntry{
		Number: int64(len(d.audit) + 1), At: demoTime, Deed: deed, Act: act, Scope: scope, Message: message,
	})
}

func (d *demo) Backlog(context.Context) (outbox.Backlog, error) {
	unlock, err := d.lock()
	defer unlock()
	return d.backlog, err
}

func (d *demo) Pause(_ context.Context, act outbox.Act, scope outbox.Scope) error {
	unlock, err := d.lock()
	defer unlock()
	if err = cmp.Or(act.Check(), scope.Check(), err); err != nil {
		return err
	}
	d.pauses = append(d.pauses, outbox.Pause{Scope: scope, Act: act, At: demoTime})
	d.record(act, "pause", scope, uuid.Nil)
	return nil
}

func (d *demo) Resume(_ context.Context, act outbox.Act, scope outbox.Scope) error {
	unlock, err := d.lock()
	defer unlock()
	if err = cmp.Or(act.Check(), scope.Check(), err); err != nil {
		return err
	}
	d.pauses = slices.DeleteFunc(d.pauses, func(p outbox.Pause) bool { return p.Scope == scope })
	d.record(act, "resume", scope, uuid.Nil)
	return nil
}

func (d *demo) Pauses(context.Context) ([]outbox.Pause, error) {
	unlock, err := d.lock()
	defer unlock()
	return slices.Clone(d.pauses), err
}

func (d *demo) Sessions(context.Context) ([]outbox.Session, error) {
	unlock, err := d.lock()
	defer unlock()
	lanes := func(from, to int) (held []int) {
		for n := from; n < to; n++ {
			held = append(held, n)
		}
		return held
	}
	id := func(n int) uuid.UUID { return d.id(demoTime.Add(-time.Hour), 400+n) }
	return []outbox.Session{
		{ID: id(1), Relay: "checkout-7c9f-2xkqp", Lanes: lanes(0, 24), InFlight: 120, Age: 5 * time.Hour, Expiry: 12400 * time.Millisecond},
		{ID: id(2), Relay: "checkout-7c9f-9tzrm", Lanes: append(lanes(24, 40), lanes(52, 58)...), InFlight: 100, Age: 5*time.Hour + 2*time.Minute, Expiry: 14 * time.Second},
		{ID: id(3), Relay: "checkout-6b1d-hw4lc", Lanes: lanes(40, 52), Age: 9 * time.Hour, Expiry: -3 * time.Second},
		{ID: id(4), Relay: "relay-standby", Lanes: lanes(58, 64), Age: 3 * 24 * time.Hour, Expiry: 11 * time.Second},
	}, err
}

func (d *demo) Failures(context.Context) (outbox.Failures, error) {
	unlock, err := d.lock()
	defer unlock()
	var groups []outbox.FailureGroup
	for _, r := range d.records {
		if r.Attempts == 0 {
			continue
		}
		same := func(g outbox.FailureGroup) bool {
			return g.Status == r.Status && g.Topic == r.Topic && g.Error == r.LastError
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i].Messages++
			continue
		}
		groups = append(groups, outbox.FailureGroup{
			Status: r.Status, Topic: r.Topic, Type: r.Type, Class: r.LastClass, Error: r.LastError, Messages: 1,
			Oldest: demoTime.Sub(r.CreatedAt), Example: r.ID,
		})
	}
	slices.SortStableFunc(groups, func(a, b outbox.FailureGroup) int { return cmp.Compare(b.Messages, a.Messages) })
	return outbox.Failures{Groups: groups}, err
}

func (d *demo) Audit(_ context.Context, message uuid.UUID, before int64, limit int) ([]outbox.AuditEntry, error) {
	unlock, err := d.lock()
	defer unlock()
	var found []outbox.AuditEntry
	for _, e := range slices.Backward(d.audit) {
		if len(found) < limit && (before == 0 || e.Number < before) && (message == uuid.Nil || message == e.Message) {
			found = append(found, e)
		}
	}
	return found, err
}

var errBroken = errors.New("connection reset by peer")

// demoRelay is a relay of the process that shows the pages.
type demoRelay struct{ snapshot outbox.Snapshot }

func (r *demoRelay) Snapshot() outbox.Snapshot { return r.snapshot }

func newDemoRelay() *demoRelay {
	return &demoRelay{outbox.Snapshot{
		State: outbox.StateReady, Lanes: 24, InFlight: 120, Delivered: 8_204_518, Refused: 170, Deferred: 96, Parked: 17,
		LastClass: outbox.ClassUnroutable, LastClaim: demoTime.Add(-300 * time.Millisecond),
	}}
}
