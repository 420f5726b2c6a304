package amqp

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// gate holds back every call while the broker blocks one of the connections. The broker tells only connections
// that have published, and goes on to accept new ones: being able to connect says nothing. So a connection that
// was told is kept until the broker takes the block back, see [link.retire]. If it is lost before that, nobody
// would hear of the end; until a confirm shows it, messages go out one at a time.
type gate struct {
	doubt atomic.Bool // a blocked connection was lost, nothing was confirmed since

	mu      sync.Mutex
	blocked map[*link]string
}

func newGate() *gate { return &gate{blocked: map[*link]string{}} }

func (g *gate) block(l *link, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blocked[l] = reason
}

func (g *gate) unblock(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.blocked, l)
	g.doubt.Store(false)
}

// lose forgets a connection that has ended.
func (g *gate) lose(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, told := g.blocked[l]; told {
		delete(g.blocked, l)
		g.doubt.Store(true)
	}
}

// confirmed takes note of a confirm: the broker reads what is published.
func (g *gate) confirmed() {
	if g.doubt.Load() {
		g.doubt.Store(false)
	}
}

// window returns how many messages may be on the way at once, of at most limit.
func (g *gate) window(limit int) int {
	if g.doubt.Load() {
		return 1
	}
	return limit
}

func (g *gate) holds(l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.blocked[l]
	return ok
}

// err returns why nothing may be sent now, or nil.
func (g *gate) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, reason := range g.blocked {
		return fmt.Errorf("broker blocks publishers (%s)", reason)
	}
	return nil
}
