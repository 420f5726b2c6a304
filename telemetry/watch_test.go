package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T, m *meter, b *backend){
		"tells_0_of_a_backlog_that_is_known_to_be_empty":            watchEmpty,
		"tells_nothing_of_a_backlog_that_is_not_known":              watchUnknown,
		"tells_nothing_of_a_store_that_cannot_tell":                 watchUnsupported,
		"counts_messages_by_topic_and_status":                       watchCounts,
		"lets_the_age_grow_between_two_looks":                       watchAge,
		"gives_no_age_to_what_is_not_due":                           watchFuture,
		"looks_only_when_somebody_collects_and_then_seldom":         watchSeldom,
		"holds_no_collection_up_for_a_store_that_hangs":             watchHang,
		"looks_once_at_a_time":                                      watchOnce,
		"leaves_the_store_to_the_process_whose_relay_leads":         watchLeader,
		"forgets_what_it_saw_when_its_relay_leads_no_more":          watchDeposed,
		"looks_when_its_relays_have_ended_or_have_lost_their_store": watchEnded,
		"tells_the_age_although_nobody_relays":                      watchNobody,
		"takes_the_largest_of_several_looks_at_one_outbox":          watchLargest,
		"tells_sessions_and_waste_where_the_store_can":              watchAside,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { check(t, newMeter(t, telemetry.Config{}), newBackend()) })
		})
	}
}

func watchEmpty(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	m.collect(t).want(t, values{
		"outbox.backlog.available":                       1,
		"outbox.backlog.capped":                          0,
		"outbox.oldest.age":                              0,
		"outbox.backlog.messages{outbox.status=pending}": 0,
		"outbox.backlog.messages{outbox.status=parked}":  0,
		"outbox.backlog.age{outbox.status=pending}":      0,
	})
}

func watchUnknown(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	b.enqueue(t, message("orders", "1"))
	time.Sleep(time.Second)
	m.collect(t).want(t, values{"outbox.backlog.available": 1, "outbox.oldest.age": 1})
	b.set(func(b *backend) { b.down = true })
	time.Sleep(time.Minute)
	got := m.collect(t)
	got.want(t, values{
		"outbox.backlog.available":                       0,
		"outbox.backlog.capped":                          -1,
		"outbox.oldest.age":                              -1,
		"outbox.backlog.messages{outbox.status=pending}": -1,
		"outbox.backlog.age{outbox.status=pending}":      -1,
		"outbox.backlog.topic.messages{messaging.destination.name=orders,outbox.status=pending}": -1,
	})
	b.set(func(b *backend) { b.down = false })
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{"outbox.backlog.available": 1, "outbox.oldest.age": 121})
}

// plain is a store without any optional capability.
type plain struct{ outbox.Store }

func watchUnsupported(t *testing.T, m *meter, b *backend) {
	defer m.Watch(plain{b})()
	m.collect(t).want(t, values{
		"outbox.backlog.available": 0, "outbox.oldest.age": -1, "outbox.backlog.messages{outbox.status=pending}": -1,
		"outbox.sessions": -1, "outbox.dead.rows": -1,
	})
}

func watchCounts(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	late := message("bills", "4")
	late.AvailableAt = time.Now().Add(time.Hour)
	b.enqueue(t, message("orders", "1"), message("orders", "2"), message("bills", "3"), late)
	const of = "outbox.backlog.topic.messages{messaging.destination.name="
	m.collect(t).want(t, values{
		"outbox.backlog.messages{outbox.status=pending}":   3,
		"outbox.backlog.messages{outbox.status=scheduled}": 1,
		of + "orders,outbox.status=pending}":               2,
		of + "bills,outbox.status=pending}":                1,
		of + "bills,outbox.status=scheduled}":              1,
	})
	_, stop := run(t, b, outbox.RelayConfig{})
	time.Sleep(time.Minute)
	stop()
	m.collect(t).want(t, values{
		"outbox.backlog.messages{outbox.status=pending}": 0,
		of + "orders,outbox.status=pending}":             0,
		of + "bills,outbox.status=pending}":              0,
		of + "bills,outbox.status=scheduled}":            1,
	})
}

func watchAge(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	b.enqueue(t, message("orders", "1"))
	for second := range 30 {
		m.collect(t).want(t, values{
			"outbox.oldest.age": float64(second), "outbox.backlog.age{outbox.status=pending}": float64(second),
		})
		time.Sleep(time.Second)
	}
	if b.queries != 1 {
		t.Errorf("got %d queries, want one", b.queries)
	}
}

func watchFuture(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	late := message("orders", "1")
	late.AvailableAt = time.Now().Add(time.Hour)
	b.enqueue(t, late)
	m.collect(t)
	time.Sleep(10 * time.Second)
	m.collect(t).want(t, values{"outbox.oldest.age": 0, "outbox.backlog.age{outbox.status=scheduled}": -1})
}

func watchSeldom(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	time.Sleep(time.Hour)
	if b.queries != 0 {
		t.Errorf("got %d queries before anybody collected", b.queries)
	}
	for range 61 {
		m.collect(t)
		time.Sleep(time.Second)
	}
	if b.queries != 3 {
		t.Errorf("got %d queries in a minute, want one every half", b.queries)
	}
}

func watchHang(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	b.enqueue(t, message("orders", "1"))
	m.collect(t)
	b.pause = time.Hour
	time.Sleep(time.Minute)
	began := time.Now()
	m.collect(t).want(t, values{"outbox.backlog.available": 1, "outbox.oldest.age": 61}) // the last is all there is
	if took := time.Since(began); took != time.Second {
		t.Errorf("the collection took %v, want a second", took)
	}
	time.Sleep(4 * time.Second)
	synctest.Wait()
	m.collect(t).want(t, values{"outbox.backlog.available": 0, "outbox.oldest.age": -1})
}

func watchOnce(t *testing.T, m *meter, b *backend) {
	r, stop := run(t, b, outbox.RelayConfig{})
	defer stop()
	time.Sleep(time.Minute)
	defer m.Watch(b, r)()
	b.set(func(b *backend) { b.pause = 3 * time.Second })
	for range 10 { // each waits for a second
		m.collect(t)
	}
	if b.queries != 1 || b.most != 1 {
		t.Errorf("got %d queries, up to %d at once: want one", b.queries, b.most)
	}
}

func watchLargest(t *testing.T, m *meter, b *backend) {
	other := newBackend()
	defer m.Watch(b)()
	defer m.Watch(other)()
	b.enqueue(t, message("orders", "1"), message("orders", "2"))
	time.Sleep(time.Second)
	other.enqueue(t, message("orders", "1"))
	m.collect(t).want(t, values{
		"outbox.backlog.messages{outbox.status=pending}":                                         2,
		"outbox.backlog.topic.messages{messaging.destination.name=orders,outbox.status=pending}": 2,
		"outbox.oldest.age": 1,
	})
}

// overseen is a store that tells of sessions and waste.
type overseen struct {
	*backend
	err error
}

func (o overseen) Sessions(context.Context) ([]outbox.Session, error) {
	return []outbox.Session{{Expiry: time.Second}, {Expiry: time.Second, Stopped: true}, {Expiry: -1}, {Expiry: 1}}, o.err
}

func (overseen) Failures(context.Context) (outbox.Failures, error) { return outbox.Failures{}, nil }

func (overseen) Audit(context.Context, uuid.UUID, int64, int) ([]outbox.AuditEntry, error) {
	return nil, nil
}

func (o overseen) Bloat(context.Context) (int64, time.Duration, error) {
	return 1000, time.Minute, o.err
}

func watchAside(t *testing.T, m *meter, b *backend) {
	stop := m.Watch(overseen{backend: b})
	m.collect(t)
	time.Sleep(time.Second)
	m.collect(t).want(t, values{"outbox.sessions": 2, "outbox.dead.rows": 1000, "outbox.oldest.snapshot.age": 61})
	stop()
	defer m.Watch(overseen{b, errors.ErrUnsupported})()
	m.collect(t).want(t, values{
		"outbox.backlog.available": 1,
		"outbox.sessions":          -1, "outbox.dead.rows": -1, "outbox.oldest.snapshot.age": -1,
	})
}
