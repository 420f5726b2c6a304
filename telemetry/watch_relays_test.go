package telemetry_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
)

func TestWatch_relays(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T, m *meter, b *backend){
		"tells_how_relays_stand_and_adds_them_up":                       watchRelays,
		"tells_relays_that_decide_otherwise_apart":                      watchPolicies,
		"tells_nothing_any_more_once_it_was_stopped":                    watchStopped,
		"tells_a_publisher_that_is_down":                                watchDown,
		"follows_a_message_that_fails_is_parked_requeued_and_delivered": watchParked,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { check(t, newMeter(t, telemetry.Config{}), newBackend()) })
		})
	}
}

func watchRelays(t *testing.T, m *meter, b *backend) {
	one, stop := run(t, b, outbox.RelayConfig{})
	two, stopTwo := run(t, b, outbox.RelayConfig{})
	defer m.Watch(b, one, two)()
	defer m.Watch(newBackend(), idle(t, b))() // another store, under the same name
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{
		"outbox.lanes":     64,
		"outbox.in_flight": 0,
		"outbox.relays{outbox.relay.state=ready}":       2,
		"outbox.relays{outbox.relay.state=idle}":        1,
		"outbox.relays{outbox.relay.state=failed}":      0,
		"outbox.relays.waiting{outbox.cause=store}":     0,
		"outbox.relays.waiting{outbox.cause=publisher}": 0,
	})
	stop()
	stopTwo()
	m.collect(t).want(t, values{"outbox.lanes": 0, "outbox.relays{outbox.relay.state=stopped}": 2, "outbox.claim.age": -1})
}

func watchPolicies(t *testing.T, m *meter, b *backend) {
	relay := func(config outbox.RelayConfig) *outbox.Relay {
		r, err := outbox.NewRelay(b, b, config)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	policies := func(relays ...*outbox.Relay) int {
		m := newMeter(t, telemetry.Config{})
		defer m.Watch(b, relays...)()
		n := 0
		for _, k := range keys(m.collect(t)) {
			if strings.HasPrefix(k, "outbox.relay.policy{") {
				n++
			}
		}
		return n
	}
	topics := map[string]outbox.Policy{"a": {MaxAttempts: 2}, "b": {MaxAttempts: 3}, "c": {OnExhausted: outbox.Skip}}
	same := outbox.RelayConfig{Topics: topics, Batch: 7, ID: "another"}
	if n := policies(relay(outbox.RelayConfig{Topics: topics}), relay(same)); n != 1 {
		t.Errorf("got %d policies of relays that decide alike, want 1", n)
	}
	if n := policies(relay(outbox.RelayConfig{}), relay(outbox.RelayConfig{MaxCrashes: 2})); n != 2 {
		t.Errorf("got %d policies of relays that decide otherwise, want 2", n)
	}
}

func watchStopped(t *testing.T, m *meter, b *backend) {
	stop := m.Watch(b)
	b.pause = time.Hour
	m.collect(t)
	began := time.Now()
	stop() // and waits for the look that runs
	if took := time.Since(began); took != 0 || b.running != 0 {
		t.Errorf("stop took %v and left %d queries, want none", took, b.running)
	}
	for _, k := range keys(m.collect(t)) {
		if strings.HasPrefix(k, "outbox.backlog") || strings.HasPrefix(k, "outbox.relays") {
			t.Errorf("it still tells of %s", k)
		}
	}
}

func watchDown(t *testing.T, m *meter, b *backend) {
	b.answer = refuse(outbox.Unavailable(errFault))
	r, stop := run(t, b, outbox.RelayConfig{Observer: m.Observer()})
	defer stop()
	defer m.Watch(b, r)()
	b.enqueue(t, message("orders", "1"))
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{
		"outbox.relays.waiting{outbox.cause=publisher}": 1, "outbox.relays{outbox.relay.state=degraded}": 1,
	})
}

func watchParked(t *testing.T, m *meter, b *backend) {
	b.answer = refuse(outbox.Permanent(errFault))
	r, stop := run(t, b, outbox.RelayConfig{Observer: m.Observer()})
	defer stop()
	defer m.Watch(b, r)()
	first := message("orders", "k")
	b.enqueue(t, first)
	b.enqueue(t, message("orders", "k"))
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{
		"outbox.backlog.messages{outbox.status=parked}": 1, "outbox.backlog.messages{outbox.status=held}": 1,
		"outbox.backlog.age{outbox.status=parked}": 60, "outbox.oldest.age": 0,
	})
	b.set(func(b *backend) { b.answer = func(*outbox.Message) outbox.Result { return outbox.Accepted } })
	if _, err := b.Requeue(t.Context(), outbox.Act{By: "t", Reason: "r"}, first.ID); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{
		"outbox.backlog.messages{outbox.status=parked}": 0, "outbox.backlog.messages{outbox.status=held}": 0,
		"outbox.settled{messaging.destination.name=orders,outbox.verdict=parked}":    1,
		"outbox.settled{messaging.destination.name=orders,outbox.verdict=delivered}": 2,
	})
}
