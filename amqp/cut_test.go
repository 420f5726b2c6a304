package amqp_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/postroom/postroom/amqp"
)

// wantHeld fails the test unless some messages were accepted, and the queue holds each.
func wantHeld(t *testing.T, b *broker, queue string, accepted map[string]bool) {
	t.Helper()
	if len(accepted) == 0 {
		t.Error("no message was accepted through any cut")
	}
	held := ids(b.take(queue))
	for id := range accepted {
		if held[id] == 0 {
			t.Errorf("message %s was accepted and is not in the queue", id)
		}
	}
}

// TestCuts counts goroutines, so nothing runs beside it.
func TestCuts(t *testing.T) {
	b := connect(t)
	exchange, queue := b.bound()
	proxy := newProxy(t)
	p := open(t, amqp.Config{URLs: []string{proxy.url}})
	wantTally(t, p.Publish(within(t, time.Minute), messages(10, exchange, "placed")), map[string]int{"accepted": 10})
	goroutines := runtime.NumGoroutine()

	accepted := map[string]bool{}
	for i := range 20 {
		proxy.cutAfter(i * i * 150) // from the first byte of the handshake to the middle of the messages
		proxy.cut()
		ms := messages(100, exchange, "placed")
		results := p.Publish(within(t, time.Minute), ms)
		wantOnly(t, results, "accepted", "unknown", "unavailable")
		for j, r := range results {
			if r.Accepted() {
				accepted[ms[j].ID.String()] = true
			}
		}
		proxy.cutAfter(-1)
		eventually(t, 10*time.Second, func() bool {
			return tally(p.Publish(within(t, time.Minute), messages(5, exchange, "placed")))["accepted"] == 5
		})
	}
	eventually(t, 5*time.Second, func() bool { return proxy.live() <= 2 }) // one for publishing, one for looking up
	eventually(t, 5*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	wantHeld(t, b, queue, accepted)
}

// TestCutSteps cuts every connection of a new publisher once after each frame in either direction, and in each frame.
func TestCutSteps(t *testing.T) {
	t.Parallel()
	b := connect(t)
	exchange, queue := b.bound()
	whole := newProxy(t)
	wantTally(t, open(t, amqp.Config{URLs: []string{whole.url}}).Publish(within(t, time.Minute),
		messages(5, exchange, "placed")), map[string]int{"accepted": 5})

	accepted := map[string]bool{}
	through := func(cut func(p *proxy)) {
		proxy := newProxy(t)
		cut(proxy)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		ms := messages(5, exchange, "placed")
		results := p.Publish(within(t, time.Minute), ms)
		wantOnly(t, results, "accepted", "unknown", "unavailable")
		for i, r := range results {
			if r.Accepted() {
				accepted[ms[i].ID.String()] = true
			}
		}
		proxy.set(func() { proxy.cutAt, proxy.muteAt = -1, -1 })
		eventually(t, 10*time.Second, func() bool {
			return p.Publish(within(t, time.Minute), messages(1, exchange, "placed"))[0].Accepted()
		})
	}
	ends, answers := whole.steps()
	for _, at := range ends {
		through(func(p *proxy) { p.cutAt = at - 1 })
		through(func(p *proxy) { p.cutAt = at })
	}
	for n := range answers {
		through(func(p *proxy) { p.muteAt = n })
	}
	t.Logf("%d ends of frames of the client, %d frames of the broker", len(ends), answers)
	wantHeld(t, b, queue, accepted)
}
