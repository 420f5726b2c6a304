package dashboard

import (
	"context"
	"time"

	"github.com/postroom/postroom/outbox"
)

const (
	sampleEvery   = 5 * time.Second
	sampleTimeout = 5 * time.Second
	history       = time.Hour
)

// sample is how things stood at a time.
type sample struct {
	at        time.Time
	known     bool // the store told; if not, the backlog is not known, which is not none
	oldest    time.Duration
	waiting   int
	relays    bool // there are relays in this process that count
	delivered uint64
}

// reading is the latest look at the store, with those before it.
type reading struct {
	at      time.Time
	backlog outbox.Backlog
	err     error
	past    []sample // oldest first, the reading included
}

// sampler looks at the backlog for all visitors, one look at a time and not more often than every five seconds: the
// look is bounded, but not free.
type sampler struct {
	dashboard *Dashboard
	turn      chan struct{}
	latest    reading
}

func newSampler(d *Dashboard) *sampler { return &sampler{dashboard: d, turn: make(chan struct{}, 1)} }

// read returns the latest reading, a new one if that is old. A visitor who leaves meanwhile does not spoil it.
func (s *sampler) read(ctx context.Context) reading {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return reading{at: s.dashboard.now(), err: ctx.Err()}
	}
	if now := s.dashboard.now(); s.latest.at.IsZero() || now.Sub(s.latest.at) >= sampleEvery {
		s.latest = s.look(context.WithoutCancel(ctx), now)
	}
	return s.latest
}

func (s *sampler) look(ctx context.Context, now time.Time) reading {
	d := s.dashboard
	r := reading{at: now, err: errNotTold}
	if d.store.backlog != nil {
		ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
		if r.backlog, r.err = d.store.backlog.Backlog(ctx); r.err != nil {
			d.config.Logger.WarnContext(ctx, "outbox: dashboard does not know the backlog", "error", r.err)
		}
	}
	one := sample{at: now, known: r.err == nil, relays: len(d.config.Relays) > 0}
	if one.known {
		due := outbox.DueStatuses()
		one.oldest, one.waiting = r.backlog.Oldest(due...), r.backlog.Messages(due...)
	}
	for _, relay := range d.config.Relays {
		one.delivered += relay.Snapshot().Delivered
	}
	r.past = append(s.recent(now), one)
	return r
}

// recent is a copy, because pages still draw the one before.
func (s *sampler) recent(now time.Time) []sample {
	kept := make([]sample, 0, len(s.latest.past)+1)
	for _, one := range s.latest.past {
		if now.Sub(one.at) <= history {
			kept = append(kept, one)
		}
	}
	return kept
}

// rate is deliveries a second from one sample to the next.
func rate(from, to sample) (float64, bool) {
	seconds := to.at.Sub(from.at).Seconds()
	if !from.relays || !to.relays || seconds <= 0 || to.delivered < from.delivered {
		return 0, false
	}
	return float64(to.delivered-from.delivered) / seconds, true
}
