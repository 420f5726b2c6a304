package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry/internal/sample"
)

const (
	lookPause   = 30 * time.Second // from the end of a look to the next one
	lookTimeout = 5 * time.Second
	patience    = time.Second // that a collection waits for a look which it has set off
)

var errUnsupported = fmt.Errorf("the store is no outbox.Backlogger: %w", errors.ErrUnsupported)

// bloater is a store that knows how much of it is waste: rows that are deleted and not cleaned up, and for how long
// the oldest transaction has kept the database from cleaning up. It returns errors.ErrUnsupported where that means
// nothing.
type bloater interface {
	Bloat(ctx context.Context) (deadRows int64, oldestSnapshot time.Duration, err error)
}

// sight is what a look has shown. Parts that are not known are nil, and a backlog that is not known leaves all out.
type sight struct {
	backlog  *sample.Sample
	sessions *int
	bloat    *bloat
}

type bloat struct {
	deadRows       int64
	oldestSnapshot time.Duration
	at             time.Time
}

// lookout looks at a store beside the collections that ask for it, one look at a time. It has the last sight for them
// until a look fails.
type lookout struct {
	store outbox.Store
	log   *slog.Logger

	mu     sync.Mutex
	last   sight
	ended  time.Time     // of the last look
	busy   chan struct{} // closed at the end of the look that runs; nil if there is none
	cancel context.CancelFunc
	over   bool
	looks  sync.WaitGroup
	query  sync.Mutex // held by a look
}

// sight returns what the latest look has shown. It sets off the next look when that is due, and waits a little for it.
func (l *lookout) sight(ctx context.Context) sight {
	if busy := l.look(); busy != nil {
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-busy:
		case <-bounded.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// look sets off a look if one is due, and returns what closes when the one that runs has ended.
func (l *lookout) look() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.busy != nil || !l.ended.IsZero() && time.Since(l.ended) < lookPause {
		return l.busy
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	busy := make(chan struct{})
	l.busy, l.cancel = busy, cancel
	l.looks.Go(func() {
		defer close(busy)
		defer cancel()
		l.keep(busy, l.take(ctx))
	})
	return busy
}

// keep takes over what a look has shown, unless it was forgotten meanwhile.
func (l *lookout) keep(look chan struct{}, s sight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy == look {
		l.last, l.ended, l.busy = s, time.Now(), nil
	}
}

// forget drops what was seen and the look that runs. The next call of sight looks at once.
func (l *lookout) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy != nil {
		l.cancel()
	}
	l.last, l.ended, l.busy = sight{}, time.Time{}, nil
}

// stop ends the look that runs, waits for it, and lets no other one follow.
func (l *lookout) stop() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.forget()
	l.looks.Wait()
}

// take asks the store.
func (l *lookout) take(ctx context.Context) sight {
	l.query.Lock()
	defer l.query.Unlock()
	began := time.Now()
	b, err := backlogOf(ctx, l.store)
	if err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			l.log.Warn("outbox: backlog is not known", "error", err)
		}
		return sight{}
	}
	s := sight{backlog: &sample.Sample{Backlog: b, At: began}}
	if o, ok := l.store.(outbox.Overseer); ok {
		s.sessions = livingSessions(ctx, o)
	}
	if w, ok := l.store.(bloater); ok {
		if dead, snapshot, err := w.Bloat(ctx); err == nil {
			s.bloat = &bloat{deadRows: dead, oldestSnapshot: snapshot, at: time.Now()}
		}
	}
	return s
}

func backlogOf(ctx context.Context, store outbox.Store) (outbox.Backlog, error) {
	b, ok := store.(outbox.Backlogger)
	if !ok {
		return outbox.Backlog{}, errUnsupported
	}
	return b.Backlog(ctx)
}

// livingSessions counts them, or returns nil if they are not known.
func livingSessions(ctx context.Context, o outbox.Overseer) *int {
	sessions, err := o.Sessions(ctx)
	if err != nil {
		return nil
	}
	n := 0
	for _, s := range sessions {
		if s.Alive() {
			n++
		}
	}
	return &n
}
