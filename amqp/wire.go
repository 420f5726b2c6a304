package amqp

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// wireBuffer is how many bytes wait in a held wire before they are written.
const wireBuffer = 32 << 10

// wire is the socket below the client library, with three things that the library lacks: it gathers the
// writes of a hand-over (the library writes after every message), it never waits for ever on a peer that has
// stopped reading, and it can be cut while a write hangs. Nothing is buffered outside of hold and flush, so
// heartbeats and replies are not late.
type wire struct {
	net.Conn
	timeout time.Duration
	cut     atomic.Bool

	mu   sync.Mutex // one write at a time, and the fields below
	held bool
	buf  []byte
}

func newWire(conn net.Conn, timeout time.Duration) *wire {
	return &wire{Conn: conn, timeout: timeout}
}

// hold gathers writes until flush.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// flush writes what was gathered; later writes go straight out again. An error has cut the wire, which the
// library's reader notices, so there is none to return.
func (w *wire) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = false
	_ = w.drain()
}

// Write takes b whole, or cuts the wire.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.buf)+len(b) > wireBuffer {
		if err := w.drain(); err != nil {
			return 0, err
		}
	}
	if !w.held || len(b) > wireBuffer {
		return w.send(b)
	}
	w.buf = append(w.buf, b...)
	return len(b), nil
}

func (w *wire) drain() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.send(w.buf)
	w.buf = w.buf[:0]
	return err
}

// send writes b within the timeout. After an error the peer may have seen half a frame: the wire is of no
// more use.
func (w *wire) send(b []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		w.kill()
		return 0, err
	}
	n, err := w.Conn.Write(b)
	if err != nil {
		w.kill()
	}
	return n, err
}

// kill cuts the connection at once, without a word to the broker and without waiting for a write that hangs.
func (w *wire) kill() {
	w.cut.Store(true)
	_ = w.Conn.Close()
}

// dead reports whether kill was called.
func (w *wire) dead() bool { return w.cut.Load() }
