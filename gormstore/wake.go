package gormstore

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// wakers are the relays of this process that wait for new messages.
type wakers struct {
	mu   sync.Mutex
	subs map[*waker]bool
}

// waker collects lanes until its relay takes them.
type waker struct {
	mu    sync.Mutex
	lanes map[int]bool
	all   bool
	freed bool // a session of this process gave up its lanes
	kick  chan struct{}
}

// Wake sends the lanes of messages that this process committed through the store's handle, nil for any lane, and an
// empty list when a session of this process gave up its lanes. What other processes do is found by polling. The
// channel is closed when ctx ends.
func (s *Store) Wake(ctx context.Context) <-chan []int {
	w := &waker{lanes: map[int]bool{}, kick: make(chan struct{}, 1)}
	s.wakers.add(w)
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
		for _, news := range w.take() {
			select {
			case <-ctx.Done():
				return
			case out <- news:
			}
		}
	}
}

// add notes lanes, nil for any and an empty set for lanes given up, and never blocks.
func (w *waker) add(lanes map[int]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = w.all || lanes == nil
	w.freed = w.freed || lanes != nil && len(lanes) == 0
	for lane := range lanes {
		w.lanes[lane] = true
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// take returns what was noted since, each in the form that outbox.Waker sends.
func (w *waker) take() [][]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var news [][]int
	switch {
	case w.all:
		news = append(news, nil)
	case len(w.lanes) > 0:
		news = append(news, slices.Sorted(maps.Keys(w.lanes)))
	}
	if w.freed {
		news = append(news, []int{})
	}
	w.all, w.freed = false, false
	clear(w.lanes)
	return news
}

func (ws *wakers) add(w *waker) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.subs == nil {
		ws.subs = map[*waker]bool{}
	}
	ws.subs[w] = true
}

func (ws *wakers) remove(w *waker) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.subs, w)
}

func (ws *wakers) signal(lanes map[int]bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.subs {
		w.add(lanes)
	}
}
