package gormstore

import (
	"context"
	"sync"
	"time"
)

const (
	notifyRest    = 20 * time.Millisecond // between two announcements of a process
	notifyTimeout = 5 * time.Second
)

// announcer is a dialect whose database carries words between processes.
type announcer interface {
	// announce says words to all who attend.
	announce(ctx context.Context, q querier, words string) error
	// attend gives heard all words that are said while it runs, from ready on; it ends with ctx or an error, which
	// is an errDeaf where trying again will not help.
	attend(ctx context.Context, s *Store, ready func(), heard func(words string)) error
}

// notifier announces commits after the fact, on a connection of its own, so that no writer waits and no business
// transaction takes the lock that a NOTIFY holds through its commit. One announcement is on its way at a time, and
// what is committed meanwhile goes with the next.
type notifier struct {
	mu      sync.Mutex
	waiting news
	running bool
}

// tell has send announce n soon, and does not wait for it.
func (t *notifier) tell(n news, send func(news)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting.add(n)
	if !t.running {
		t.running = true
		go t.run(send)
	}
}

// run ends when there is nothing left to announce.
func (t *notifier) run(send func(news)) {
	for n, ok := t.next(); ok; n, ok = t.next() {
		send(n)
		<-time.After(notifyRest)
	}
}

func (t *notifier) next() (n news, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, t.waiting = t.waiting, news{}
	t.running = !n.empty()
	return n, t.running
}

// committed wakes the relays of this process, and soon those of others.
func (s *Store) committed(n news) {
	s.wakers.signal(n)
	if a, ok := s.dialect.(announcer); ok {
		s.notifier.tell(n, func(n news) { s.announce(context.Background(), a, n) })
	}
}

// spread wakes the relays of this process, and tells those of others before it returns: this process may end.
func (s *Store) spread(ctx context.Context, n news) {
	s.wakers.signal(n)
	if a, ok := s.dialect.(announcer); ok {
		s.announce(ctx, a, n)
	}
}

// announce may fail: other processes poll all the same.
func (s *Store) announce(ctx context.Context, a announcer, n news) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	if err := a.announce(ctx, s.pool, n.encode(s.id)); err != nil {
		s.log.DebugContext(ctx, "outbox news did not reach other processes, which poll", "error", err)
	}
}
