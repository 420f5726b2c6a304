package gormstore

import (
	"context"
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
	kick  chan struct{}
}

// Wake sends the lanes of messages that this process committed through the store's handle, nil for any lane. What
// other processes commit is found by polling. The channel is closed when ctx ends.
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
		select {
		case <-ctx.Done():
			return
		case out <- w.take():
		}
	}
}

// add notes lanes, nil for any, and never blocks.
func (w *waker) add(lanes map[int]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = w.all || lanes == nil
	for lane := range lanes {
		w.lanes[lane] = true
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *waker) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lanes []int
	if !w.all {
		for lane := range w.lanes {
			lanes = append(lanes, lane)
		}
		slices.Sort(lanes)
	}
	w.all = false
	clear(w.lanes)
	return lanes
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
