package outbox

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// breaker keeps workers from claiming what a publisher that is down could not take. While it is open they try
// one message at a time, ever more slowly, until the broker takes one.
type breaker struct {
	mu     sync.Mutex
	failed int
	until  time.Time
	jitter *rand.Rand
}

const (
	probePause    = 100 * time.Millisecond
	maxProbePause = 2 * time.Second
)

// wait returns how many messages the next claim may have, at most limit, after the pause that is due.
func (b *breaker) wait(ctx context.Context, limit int) int {
	b.mu.Lock()
	failed, pause := b.failed, time.Until(b.until)
	b.mu.Unlock()
	if failed == 0 {
		return limit
	}
	if pause > 0 {
		sleep(ctx, pause, nil)
	}
	return 1
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
