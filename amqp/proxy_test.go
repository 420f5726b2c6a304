package amqp_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/postroom/postroom/internal/testservices"
)

// proxy stands between a publisher and the broker and plays the network's and the broker's tricks: it
// refuses, cuts, freezes, and raises the alarm as RabbitMQ does.
type proxy struct {
	tb     testing.TB
	url    string // of the broker, through the proxy
	target string
	addr   string

	mu       sync.Mutex
	changed  *sync.Cond
	listener net.Listener
	pairs    map[*pair]bool
	accepted int
	opened   int          // channels
	frames   map[int]bool // where frames of clients have ended, in bytes from the start of a connection
	answers  int          // the most frames that a connection got from the broker
	muteAt   int          // cut a connection after that many frames from the broker; -1 never
	cutAt    int          // cut a connection after that many bytes from the client; -1 never
	frozen   bool
	alarmed  bool
}

// pair is one connection through the proxy.
type pair struct {
	client, server net.Conn
	sent           int
	log            []byte // what the client has sent of frames that have not ended
	got            int    // frames from the broker
	blocked        bool
	down           bool
	injecting      sync.Mutex // one frame at a time goes to the client
}

func newProxy(tb testing.TB) *proxy {
	tb.Helper()
	target, err := url.Parse(testservices.AMQP(tb))
	must(tb, err)
	p := &proxy{
		tb: tb, target: target.Host, addr: "127.0.0.1:0", pairs: map[*pair]bool{}, cutAt: -1, muteAt: -1,
		frames: map[int]bool{},
	}
	p.changed = sync.NewCond(&p.mu)
	p.start()
	target.Host = p.addr
	p.url = target.String()
	tb.Cleanup(p.stop)
	return p
}

// start listens, on the same port as before.
func (p *proxy) start() {
	p.tb.Helper()
	listener, err := net.Listen("tcp", p.addr)
	must(p.tb, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.addr = listener, listener.Addr().String()
	go p.serve(listener)
}

// stop refuses new connections and cuts those there are.
func (p *proxy) stop() {
	p.mu.Lock()
	_ = p.listener.Close()
	p.mu.Unlock()
	p.cut()
}

func (p *proxy) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &pair{client: client, server: server}
		p.mu.Lock()
		p.accepted++
		p.pairs[c] = true
		p.mu.Unlock()
		go p.upstream(c)
		go p.downstream(c)
	}
}

// cut ends all connections without a word.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		p.end(c)
	}
}

func (p *proxy) end(c *pair) {
	_, _ = c.client.Close(), c.server.Close()
	c.down = true
	delete(p.pairs, c)
	p.changed.Broadcast()
}

// set changes what the proxy does from now on.
func (p *proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

func (p *proxy) cutAfter(bytes int) { p.set(func() { p.cutAt = bytes }) }
func (p *proxy) freeze()            { p.set(func() { p.frozen = true }) }
func (p *proxy) thaw()              { p.set(func() { p.frozen = false }) }

// alarm makes the proxy stop reading from each connection at its first publish, with a notice, as the broker
// does.
func (p *proxy) alarm() { p.set(func() { p.alarmed = true }) }

// clear ends the alarm, with a notice to those who were told of it.
func (p *proxy) clear() {
	p.set(func() {
		p.alarmed = false
		for c := range p.pairs {
			if c.blocked {
				c.blocked = false
				go c.notify(unblocked)
			}
		}
	})
}

func (p *proxy) live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

// blocked counts the connections that were told of the alarm.
func (p *proxy) blocked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.pairs {
		if c.blocked {
			n++
		}
	}
	return n
}

// steps returns where frames of clients have ended, and how many frames the broker has sent to one of them.
func (p *proxy) steps() (ends []int, answers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.frames)), p.answers
}

func (p *proxy) channels() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

func (p *proxy) dials() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// upstream carries bytes from the client to the broker, if and when it may.
func (p *proxy) upstream(c *pair) {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.client.Read(buf)
		if err != nil {
			break
		}
		n, ok := p.pass(c, buf[:n])
		if n > 0 {
			_, err = c.server.Write(buf[:n])
		}
		if !ok || err != nil {
			break
		}
	}
	p.set(func() { p.end(c) })
}

// pass waits until b may go on, and returns how much of it and whether the connection lives on.
func (p *proxy) pass(c *pair, b []byte) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	publish := bytes.Contains(b, []byte{0, 60, 0, 40})
	for !c.down && (p.frozen || p.alarmed && (publish || c.blocked)) {
		if p.alarmed && publish && !c.blocked {
			c.blocked = true
			go c.notify(blocked)
		}
		p.changed.Wait()
	}
	p.read(c, b)
	if p.cutAt >= 0 && c.sent+len(b) > p.cutAt {
		return max(0, p.cutAt-c.sent), false
	}
	c.sent += len(b)
	return len(b), !c.down
}

// read takes note of frames in what the client sends: a type, a channel, a length, the rest, and an end of one byte.
func (p *proxy) read(c *pair, b []byte) {
	if bytes.Contains(b, []byte{0, 20, 0, 10}) {
		p.opened++
	}
	at := c.sent - len(c.log) // where log begins
	if c.log = append(c.log, b...); at == 0 && len(c.log) >= 8 {
		c.log, at = c.log[8:], 8 // the header of the protocol
		p.frames[at] = true
	}
	for len(c.log) >= 7 {
		size := 7 + int(binary.BigEndian.Uint32(c.log[3:])) + 1
		if len(c.log) < size {
			return
		}
		c.log, at = c.log[size:], at+size
		p.frames[at] = true
	}
}

// mute reports whether the connection is to be cut before its next frame from the broker.
func (p *proxy) mute(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := p.muteAt >= 0 && c.got >= p.muteAt
	c.got++
	p.answers = max(p.answers, c.got)
	return cut
}

// downstream carries whole frames from the broker to the client.
func (p *proxy) downstream(c *pair) {
	for {
		head := make([]byte, 7)
		if _, err := io.ReadFull(c.server, head); err != nil {
			break
		}
		body := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(c.server, body); err != nil {
			break
		}
		if p.mute(c) || c.inject(append(head, body...)) != nil {
			break
		}
	}
	p.set(func() { p.end(c) })
}

// What RabbitMQ says when it stops reading from a connection and when it goes on.
var (
	blocked   = frame([]byte("\x00\x0a\x00\x3c\x0dlow on memory"))
	unblocked = frame([]byte("\x00\x0a\x00\x3d"))
)

// notify sends a frame to a client that may be gone.
func (c *pair) notify(frame []byte) { _ = c.inject(frame) }

func (c *pair) inject(frame []byte) error {
	c.injecting.Lock()
	defer c.injecting.Unlock()
	_, err := c.client.Write(frame)
	return err
}

// frame wraps a method on channel 0.
func frame(method []byte) []byte {
	f := binary.BigEndian.AppendUint32([]byte{1, 0, 0}, uint32(len(method)))
	return append(append(f, method...), 0xce)
}
