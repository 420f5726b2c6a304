package telemetry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry"
)

func watchLeader(t *testing.T, m *meter, b *backend) {
	first, stop := run(t, b, outbox.RelayConfig{})
	defer stop()
	time.Sleep(time.Minute)
	second, stopSecond := run(t, b, outbox.RelayConfig{})
	defer stopSecond()
	time.Sleep(time.Minute)
	if second.Snapshot().Leads {
		first, second = second, first
	}
	peer := newMeter(t, telemetry.Config{}) // another process
	defer m.Watch(b, first)()
	defer peer.Watch(b, second)()
	b.enqueue(t, message("orders", "1"))
	m.collect(t).want(t, values{"outbox.backlog.available": 1, "outbox.lanes": 32})
	peer.collect(t).want(t, values{
		"outbox.backlog.available": -1, "outbox.oldest.age": -1, "outbox.lanes": 32,
		"outbox.backlog.messages{outbox.status=pending}": -1,
	})
}

func watchDeposed(t *testing.T, m *meter, b *backend) {
	b.Store = memstore.New(memstore.Config{Lanes: 1})
	other := newBackend() // the same store, by another way
	other.Store = b.Store
	first, stop := run(t, b, outbox.RelayConfig{Lease: time.Second})
	defer stop()
	time.Sleep(time.Minute)
	second, stopSecond := run(t, other, outbox.RelayConfig{Lease: time.Second})
	defer stopSecond()
	peer := newMeter(t, telemetry.Config{}) // another process
	defer m.Watch(b, first)()
	defer peer.Watch(other, second)()
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{"outbox.backlog.available": 1})
	peer.collect(t).want(t, values{"outbox.backlog.available": -1})

	b.set(func(b *backend) { b.pause = 4 * time.Second })
	time.Sleep(time.Minute)
	m.collect(t) // for a second, and the look goes on
	b.set(func(b *backend) { b.down = true })
	time.Sleep(1500 * time.Millisecond)
	b.set(func(b *backend) { b.down = false })
	time.Sleep(time.Second)
	if b.running != 1 {
		t.Fatalf("got %d looks that run, want 1", b.running)
	}
	m.collect(t).want(t, values{"outbox.backlog.available": -1, "outbox.lanes": 0})
	peer.collect(t).want(t, values{"outbox.backlog.available": 1, "outbox.lanes": 1}) // at once
	synctest.Wait()
	if b.running != 0 {
		t.Error("the look of who leads no more goes on")
	}
}

func idle(t *testing.T, b *backend) *outbox.Relay {
	t.Helper()
	r, err := outbox.NewRelay(b, b, outbox.RelayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func watchEnded(t *testing.T, m *meter, b *backend) {
	r, stop := run(t, b, outbox.RelayConfig{})
	defer m.Watch(b, r)()
	time.Sleep(time.Minute)
	b.set(func(b *backend) { b.down = true })
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{"outbox.backlog.available": 0, "outbox.relays{outbox.relay.state=degraded}": 1})
	b.set(func(b *backend) { b.down = false })
	time.Sleep(time.Minute)
	stop()
	b.enqueue(t, message("orders", "1"))
	time.Sleep(time.Minute)
	m.collect(t).want(t, values{
		"outbox.backlog.available": 1, "outbox.oldest.age": 60,
		"outbox.relays{outbox.relay.state=stopped}": 1, "outbox.relays{outbox.relay.state=ready}": 0,
	})
}

func watchNobody(t *testing.T, m *meter, b *backend) {
	defer m.Watch(b)()
	b.enqueue(t, message("orders", "1"))
	time.Sleep(time.Hour)
	m.collect(t).want(t, values{"outbox.oldest.age": 3600, "outbox.lanes": 0})
}
