package amqp

import (
	"fmt"
	"sync"
)

// gate holds back every call while the broker blocks one of the connections. The broker tells only
// connections that have published, and goes on to accept new ones: being able to connect says nothing. So a
// connection that was told is kept until the broker takes the block back, see [link.retire].
type gate struct {
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
