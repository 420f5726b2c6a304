package kafka

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

var errClosed = errors.New("kafka: publisher is closed")

// pool lends each call a client of its own. It has as many as there were calls at once, and owns all that
// they started.
type pool struct {
	options []kgo.Opt
	closing context.Context // ends with close
	stop    context.CancelFunc
	work    sync.WaitGroup // calls, and clients that are being closed

	mu   sync.Mutex
	idle []*client
}

func newPool(options []kgo.Opt) *pool {
	p := &pool{options: options}
	p.closing, p.stop = context.WithCancel(context.Background())
	return p
}

// borrow returns a client for the caller alone, the one used last before others, so that surplus ones age.
func (p *pool) borrow() (*client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing.Err() != nil {
		return nil, errClosed
	}
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle[last], p.idle = nil, p.idle[:last]
		if c.reusable() {
			p.work.Add(1)
			return c, nil
		}
		c.close()
	}
	c, err := newClient(p.options, p.work.Go)
	if err != nil {
		return nil, err
	}
	p.work.Add(1)
	return c, nil
}

// giveBack ends what borrow began.
func (p *pool) giveBack(c *client) {
	defer p.work.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing.Err() == nil && c.reusable() {
		p.idle = append(p.idle, c)
		return
	}
	c.close()
}

// close ends idle clients now and the others with their calls. The channel is closed when all have ended.
func (p *pool) close() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.work.Wait()
	}()
	return done
}
