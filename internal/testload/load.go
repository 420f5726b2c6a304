// Package testload keeps a publisher busy while its broker is ill: numbered messages of many keys go through a relay
// with its in-memory store, and what arrived is checked at the end. Nothing may be lost, and of each key the first
// copies are in order.
package testload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
)

const (
	keys     = 20
	pause    = 50 * time.Millisecond // between two rounds of one message for each key
	backlog  = 2000                  // messages that wait for their delivery, at most about
	patience = 3 * time.Minute
)

// Load is a relay at work.
type Load struct {
	store *memstore.Store
	topic string

	stopWriting, stopRelay context.CancelFunc
	writing                chan struct{}
	relayed                chan error

	mu        sync.Mutex
	written   int // of each key
	delivered int
	outcomes  map[string]int // by class, of hand-overs that ended otherwise
	refusals  []string       // what counted as a failure of a message
}

// Start starts the relay and the writer, which end with Finish or the test.
func Start(tb testing.TB, publisher outbox.Publisher, topic string) *Load {
	tb.Helper()
	l := &Load{
		store: memstore.New(memstore.Config{}), topic: topic, outcomes: map[string]int{},
		writing: make(chan struct{}), relayed: make(chan error, 1),
	}
	relay, err := outbox.NewRelay(l.store, publisher, outbox.RelayConfig{
		Policy:   outbox.Policy{MaxBackoff: time.Second},
		Observer: outbox.Observer{Cycle: l.observe},
	})
	if err != nil {
		tb.Fatal(err)
	}
	writing, stopWriting := context.WithCancel(context.Background())
	running, stopRelay := context.WithCancel(context.Background())
	l.stopWriting, l.stopRelay = stopWriting, stopRelay
	go l.write(writing)
	go func() { l.relayed <- relay.Run(running) }()
	tb.Cleanup(func() { stopWriting(); stopRelay() })
	return l
}

func (l *Load) write(ctx context.Context) {
	defer close(l.writing)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 1; ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if l.store.Pending() > backlog {
			continue
		}
		round := make([]*outbox.Message, keys)
		for k := range round {
			key := fmt.Sprintf("key-%d", k)
			round[k] = &outbox.Message{Topic: l.topic, Key: key, Type: "Counted", Payload: fmt.Appendf(nil, "%s %d", key, n)}
		}
		err := l.store.InTransaction(context.Background(), func(ctx context.Context) error {
			return l.store.Enqueue(ctx, round...)
		})
		l.mu.Lock()
		if l.written = n; err != nil {
			l.refusals = append(l.refusals, err.Error())
		}
		l.mu.Unlock()
		n++
	}
}

func (l *Load) observe(e outbox.CycleEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range e.Outcomes {
		switch o.Verdict {
		case outbox.Delivered:
			l.delivered++
		case outbox.Release:
		case outbox.Defer:
			l.outcomes[string(o.Class)]++
		default:
			l.refusals = append(l.refusals, fmt.Sprint(o.Class, ": ", o.Err))
		}
	}
}

// Delivers waits until n more messages are delivered.
func (l *Load) Delivers(tb testing.TB, n int) {
	tb.Helper()
	l.await(tb, fmt.Sprintf("delivers %d", n), l.more(&l.delivered, n))
}

// Meets waits until n more hand-overs end without acceptance, in an outage or without an answer.
func (l *Load) Meets(tb testing.TB, n int) {
	tb.Helper()
	count := func() (sum int) {
		for _, n := range l.outcomes {
			sum += n
		}
		return sum
	}
	l.mu.Lock()
	want := count() + n
	l.mu.Unlock()
	l.await(tb, fmt.Sprintf("meets %d failures", n), func() bool { return count() >= want })
}

func (l *Load) more(counter *int, n int) func() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	want := *counter + n
	return func() bool { return *counter >= want }
}

func (l *Load) await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		l.mu.Lock()
		ok, state := done(), fmt.Sprintf("%d delivered, otherwise %v, refusals %d", l.delivered, l.outcomes, len(l.refusals))
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("the relay never %s: %s", what, state)
		}
	}
}

// Finish ends the writer, waits until all is delivered, ends the relay, and returns how many messages each key has.
// Nothing of it may have been counted as a failure of a message.
func (l *Load) Finish(tb testing.TB) (each int) {
	tb.Helper()
	l.stopWriting()
	<-l.writing
	l.await(tb, "empties its store", func() bool { return l.store.Pending() == 0 })
	l.stopRelay()
	select {
	case err := <-l.relayed:
		if err != nil {
			tb.Errorf("the relay ended: %v", err)
		}
	case <-time.After(patience):
		tb.Fatal("the relay did not end")
	}
	tb.Logf("%d messages of each of %d keys; hand-overs that ended otherwise: %v", l.written, keys, l.outcomes)
	if len(l.refusals) > 0 {
		tb.Errorf("%d failures were counted, the first of them: %s", len(l.refusals), l.refusals[0])
	}
	return l.written
}

// Check holds the payloads that a consumer read, in their order for each key, against what was written.
func Check(tb testing.TB, each int, payloads []string) {
	tb.Helper()
	last := map[string]int{}
	copies := 0
	for _, p := range payloads {
		key, number, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
			tb.Errorf("read %q", p)
		case n <= last[key]:
			copies++
		case n > last[key]+1:
			tb.Errorf("%s: number %d was read after %d", key, n, last[key])
			last[key] = n
		default:
			last[key] = n
		}
	}
	for k := range keys {
		if key := fmt.Sprintf("key-%d", k); last[key] != each {
			tb.Errorf("%s: the last number that was read is %d, want %d", key, last[key], each)
		}
	}
	tb.Logf("%d messages were read, %d of them copies", len(payloads), copies)
}
