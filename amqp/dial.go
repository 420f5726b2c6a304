package amqp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// The pause after failed attempts to connect doubles from minPause to maxPause.
const (
	minPause = 100 * time.Millisecond
	maxPause = 2 * time.Second
)

// dialer opens links, for all calls of a publisher. After a failure one attempt at a time is made, with
// pauses between them; whoever comes in the meantime gets the last error at once. So a dead broker costs next
// to nothing.
type dialer struct {
	config Config
	gate   *gate

	mu       sync.Mutex
	next     int // the index of the URL to begin with
	failures int
	resume   time.Time // no attempt before it
	probing  bool      // someone is trying
	last     error
	links    map[*link]struct{} // the connections that have not ended
}

// dial returns an open link with a channel for a window of messages, in confirm mode unless window is 0.
func (d *dialer) dial(ctx context.Context, window int) (*link, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	l, err := d.tryAll(ctx, window)
	d.leave(err, ctx.Err() != nil)
	return l, err
}

// enter returns the last error if this is not the time for an attempt.
func (d *dialer) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures == 0 {
		return nil
	}
	if d.probing || time.Now().Before(d.resume) {
		return d.last
	}
	d.probing = true
	return nil
}

// leave records the end of an attempt. One that the caller broke off says nothing about the broker.
func (d *dialer) leave(err error, brokenOff bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probing = false
	switch {
	case err == nil:
		if d.failures > 0 {
			d.config.Logger.Info("broker available again")
		}
		d.failures, d.last = 0, nil
	case !brokenOff:
		if d.failures == 0 {
			d.config.Logger.Warn("broker unavailable", slog.Any("error", err))
		}
		d.failures++
		d.last = err
		d.resume = time.Now().Add(pause(d.failures))
	}
}

// pause returns the wait after so many failures, less up to half of it so that relays do not come back in step.
func pause(failures int) time.Duration {
	p := maxPause
	if shift := failures - 1; shift < 8 {
		p = min(maxPause, minPause<<shift)
	}
	return p/2 + rand.N(p/2)
}

// tryAll tries each URL once.
func (d *dialer) tryAll(ctx context.Context, window int) (*link, error) {
	var failed error
	for range d.config.URLs {
		i := d.current()
		l, err := d.establish(ctx, d.config.URLs[i], window)
		if err == nil {
			return l, nil
		}
		failed = both(failed, err)
		d.skip(i)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

// both returns the errors of two URLs as one, in one line.
func both(a, b error) error {
	if a == nil {
		return b
	}
	return fmt.Errorf("%w; %w", a, b)
}

func (d *dialer) current() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.next
}

// skip moves on from URL i, unless another call has done so.
func (d *dialer) skip(i int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == i {
		d.next = (i + 1) % len(d.config.URLs)
	}
}

func (d *dialer) add(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.links[l] = struct{}{}
}

func (d *dialer) remove(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.links, l)
}

// closeAll ends all connections at the same time, within about limit.
func (d *dialer) closeAll(limit time.Duration) {
	d.mu.Lock()
	links := slices.Collect(maps.Keys(d.links))
	d.mu.Unlock()
	var closing sync.WaitGroup
	for _, l := range links {
		closing.Go(func() { l.close(limit) })
	}
	closing.Wait()
}
