package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// breaker keeps workers from claiming what a publisher that is down could not take. While it is open one worker at
// a time tries one message, ever more slowly, until the broker takes one.
type breaker struct {
	jitter *rand.Rand
	change *bell // rings when a probe has ended

	mu      sync.Mutex
	failed  int
	until   time.Time
	probing bool
}

const (
	probePause    = 100 * time.Millisecond
	maxProbePause = 2 * time.Second
)

func newBreaker(jitter *rand.Rand) *breaker { return &breaker{jitter: jitter, change: newBell()} }

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
	case b.failed == 0:
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

// record takes note of a call's outcomes, and reports whether the breaker opened or closed by them.
func (b *breaker) record(outcomes []Outcome) (opened, closed bool) {
	down := isDown(outcomes)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !down {
		closed = b.failed > 0
		b.failed = 0
		return false, closed
	}
	b.failed++
	b.until = time.Now().Add(backoff(b.failed, probePause, maxProbePause, b.jitter))
	return b.failed == 1, false
}

// isDown: not one message of the call got an answer that is about the message.
func isDown(outcomes []Outcome) bool {
	for _, o := range outcomes {
		switch {
		case o.Verdict == Release, o.Class == ClassUnavailable, o.Class == ClassUnknown:
		default:
			return false
		}
	}
	return len(outcomes) > 0
}
