package outbox

import (
	"context"
	"math/rand/v2"
	"time"
)

// pacer spaces the looks at all lanes as long as they find nothing: from a twentieth of top up to top.
type pacer struct {
	top    time.Duration
	empty  int
	next   time.Time // when the next look is due; the first one is at once
	jitter *rand.Rand
}

func newPacer(top time.Duration, jitter *rand.Rand) *pacer { return &pacer{top: top, jitter: jitter} }

func (p *pacer) due() bool { return !time.Now().Before(p.next) }

// reset makes the next look due at once, and those that follow come close to one another.
func (p *pacer) reset() { p.empty, p.next = 0, time.Time{} }

// missed follows a look that found nothing.
func (p *pacer) missed() {
	p.empty++
	p.next = time.Now().Add(backoff(p.empty, p.top/20, p.top, p.jitter))
}

// soon is for what a look at some lanes may have missed.
func (p *pacer) soon() {
	next := p.next
	p.reset()
	p.missed()
	if next.Before(p.next) {
		p.next = next
	}
}

// wait ends when the next look is due, and early when there are news, or done closes (nil never does).
func (p *pacer) wait(ctx context.Context, news, done <-chan struct{}) {
	t := time.NewTimer(time.Until(p.next))
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
	case <-done:
	case <-ctx.Done():
	}
}
