package health

import (
	"context"
	"fmt"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry/internal/sample"
)

// Checks tells the health of an outbox. It is safe for concurrent use.
type Checks struct {
	config  Config
	relays  []*outbox.Relay
	sampler *sample.Sampler // nil without a store
}

// New returns the checks of relays, which may be none.
func New(config Config, relays ...*outbox.Relay) *Checks {
	c := &Checks{config: config.withDefaults(), relays: relays}
	if config.Store != nil {
		c.sampler = sample.New(config.Store, c.config.Every, c.config.Timeout)
	}
	return c
}

// Check returns the health of the outbox. It asks the store, no longer than ctx and Config.Timeout, unless it has done
// so within Config.Every.
func (c *Checks) Check(ctx context.Context) Report {
	r := c.look()
	c.askStore(ctx, &r)
	r.Ready = len(r.Problems) == 0
	return r
}

// look makes a report of the relays alone.
func (c *Checks) look() Report {
	r := Report{Live: true, Problems: []Problem{}, Relays: []outbox.Snapshot{}}
	for i, relay := range c.relays {
		s := relay.Snapshot()
		r.Relays = append(r.Relays, s)
		r.judge(fmt.Sprintf("relay %d of %d", i+1, len(c.relays)), s, c.config.StuckAfter)
	}
	return r
}

func (r *Report) add(cause Cause, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{cause, fmt.Sprintf(format, args...)})
}

// judge adds what is wrong with a relay. Store and publisher are told apart, and the one never hides the other.
func (r *Report) judge(name string, s outbox.Snapshot, stuckAfter time.Duration) {
	switch s.State {
	case outbox.StateFailed:
		r.Live = false
		r.add(CauseFailed, "%s has ended with an error: see its log", name)
	case outbox.StateReady:
		if silent := time.Since(s.LastClaim); s.Lanes > 0 && silent > stuckAfter {
			r.Live = false
			r.add(CauseStuck, "%s has had no answer to a claim for %v", name, silent.Round(time.Second))
		}
	case outbox.StateDegraded:
	default:
		r.add(CauseNotReady, "%s is %s", name, s.State)
	}
	if s.StoreDown {
		r.add(CauseStoreDown, "%s waits for its store", name)
	}
	if s.PublisherDown {
		r.add(CausePublisherDown, "%s waits for its broker", name)
	}
}

// askStore adds the backlog, and what is wrong with it.
func (c *Checks) askStore(ctx context.Context, r *Report) {
	if c.sampler == nil {
		return
	}
	s, err := c.sampler.Get(ctx)
	if err != nil {
		c.config.Logger.WarnContext(ctx, "outbox: backlog is not known", "error", err)
		r.add(CauseBacklogUnknown, "the store did not tell its backlog: see the log")
		return
	}
	b := &Backlog{Messages: make(map[outbox.Status]int), Oldest: s.Oldest(outbox.DueStatuses()...), Capped: s.Capped}
	for _, n := range s.Counts {
		b.Messages[n.Status] += n.Messages
	}
	r.Backlog = b
	due, parked := s.Messages(outbox.DueStatuses()...), b.Messages[outbox.StatusParked]
	if c.config.MaxAge >= 0 && b.Oldest > c.config.MaxAge {
		r.add(CauseOld, "the oldest message has been due for %v, the bound is %v",
			b.Oldest.Round(time.Millisecond), c.config.MaxAge)
	}
	if c.config.MaxBacklog > 0 && due > c.config.MaxBacklog {
		r.add(CauseLarge, "%d messages are due, the bound is %d", due, c.config.MaxBacklog)
	}
	if c.config.MaxParked != 0 && parked > max(0, c.config.MaxParked) {
		r.add(CauseParked, "%d messages are parked, the bound is %d", parked, max(0, c.config.MaxParked))
	}
}
