package gormstore

import (
	"context"
	"sync"
)

// wakers are the relays of this process that wait for news, and the listener that they share.
type wakers struct {
	mu   sync.Mutex
	subs map[*waker]bool
	stop func() // ends the listener and waits for its end
}

// waker collects news until its relay takes them.
type waker struct {
	mu   sync.Mutex
	news news
	kick chan struct{}
}

// Wake sends the lanes of messages that were committed through a store's handle, nil for any lane, and an empty list
// when a session gave up its lanes. On PostgreSQL it tells of other processes, too: as long as anyone is subscribed,
// one connection of [Config.Control], or else of the GORM handle's pool, listens. Where that is not possible, a
// warning says so once, and what other processes do is found by polling. The channel is closed when ctx ends.
func (s *Store) Wake(ctx context.Context) <-chan []int {
	w := &waker{kick: make(chan struct{}, 1)}
	s.wakers.add(w, func() func() { return inBackground(ctx, s.listen) })
	out := make(chan []int)
	go func() {
		defer close(out)
		defer s.wakers.remove(w)
		w.run(ctx, out)
	}()
	return out
}

func (w *waker) run(ctx context.Context, out chan<- []int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		}
		for _, lanes := range w.take() {
			select {
			case <-ctx.Done():
				return
			case out <- lanes:
			}
		}
	}
}

// add never blocks.
func (w *waker) add(n news) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news.add(n)
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *waker) take() [][]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.news
	w.news = news{}
	return n.lists()
}

// add starts the listener with the first subscriber.
func (ws *wakers) add(w *waker, listen func() (stop func())) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.subs) == 0 {
		ws.subs = map[*waker]bool{}
		ws.stop = listen()
	}
	ws.subs[w] = true
}

// remove ends the listener with the last subscriber.
func (ws *wakers) remove(w *waker) {
	ws.mu.Lock()
	delete(ws.subs, w)
	stop := func() {}
	if len(ws.subs) == 0 {
		stop = ws.stop
	}
	ws.mu.Unlock()
	stop() // without the lock, which the listener takes
}

func (ws *wakers) signal(n news) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.subs {
		w.add(n)
	}
}

// inBackground runs fn beside its caller, and returns what ends it and waits for that.
func inBackground(ctx context.Context, fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(ctx)
	}()
	return func() { cancel(); <-done }
}
