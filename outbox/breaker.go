package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// breaker keeps workers from claiming what a publisher that is down could not take. While it is open one worker at
// a time tries one message, ever more slowly, until the broker takes one. With several brokers behind a Mux it tells
// how they stand and holds nobody back: that message might be for the broker that is down each time, and all messages
// for the others behind it.
type breaker struct {
	brokers map[string]int // of a Mux, by transport; any other publisher counts as one broker
	several bool
	jitter  *rand.Rand
	change  *bell // rings when a probe has ended

	mu      sync.Mutex
	failed  map[int]int // by broker, claims in a row that had no answer
	until   time.Time
	probing bool
}

const (
	probePause    = 100 * time.Millisecond
	maxProbePause = 2 * time.Second
)

func newBreaker(p Publisher, jitter *rand.Rand) *breaker {
	b := &breaker{jitter: jitter, change: newBell(), failed: make(map[int]int)}
	if m, ok := p.(Mux); ok {
		var n int
		b.brokers, n = m.brokers()
		b.several = n > 1
	}
	return b
}

// enter returns how many messages the next claim may have, at most limit, once it may be made. Whoever enters
// leaves after the claim has been seen through.
func (b *breaker) enter(ctx context.Context, limit int) (n int, leave func()) {
	for {
		change := b.change.next()
		open, pause := b.tryProbe()
		switch {
		case !open:
			return limit, func() {}
		case pause == 0:
			return 1, b.leave
		case !sleep(ctx, pause, change):
			return 0, func() {}
		}
	}
}

// tryProbe reports whether the breaker is open; if so, the caller is the one to probe, or has to pause.
func (b *breaker) tryProbe() (open bool, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch left := time.Until(b.until); {
	case len(b.failed) == 0, b.several:
		return false, 0
	case b.probing:
		return true, maxProbePause
	case left > 0:
		return true, left
	default:
		b.probing = true
		return true, 0
	}
}

func (b *breaker) leave() {
	b.mu.Lock()
	b.probing = false
	b.mu.Unlock()
	b.change.ring()
}

// record takes note of a claim's outcomes, and reports whether the first broker went down by them, or the last one that
// was down came back.
func (b *breaker) record(outcomes []Outcome) (opened, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.failed)
	for broker, answered := range b.answers(outcomes) {
		if answered {
			delete(b.failed, broker)
			continue
		}
		b.failed[broker]++
		b.until = time.Now().Add(backoff(b.failed[broker], probePause, maxProbePause, b.jitter))
	}
	return before == 0 && len(b.failed) > 0, before > 0 && len(b.failed) == 0
}

// answers says of each broker that had messages whether one of them got an answer that is about the message. A
// transport that nobody serves is no broker.
func (b *breaker) answers(outcomes []Outcome) map[int]bool {
	answers := make(map[int]bool)
	for _, o := range outcomes {
		broker, served := b.brokers[o.Transport]
		if served || b.brokers == nil {
			answers[broker] = answers[broker] || !noWord(o)
		}
	}
	return answers
}

// noWord: the broker said nothing about the message.
func noWord(o Outcome) bool {
	return o.Verdict == Release || o.Class == ClassUnavailable || o.Class == ClassUnknown
}
