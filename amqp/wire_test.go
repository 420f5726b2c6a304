package amqp

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// recorder is a socket that keeps what is written, one entry for each write.
type recorder struct {
	net.Conn
	writes [][]byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.writes = append(r.writes, bytes.Clone(b))
	return len(b), nil
}

func (r *recorder) SetWriteDeadline(time.Time) error { return nil }
func (r *recorder) Close() error                     { return nil }

func (r *recorder) sizes() []int {
	var n []int
	for _, w := range r.writes {
		n = append(n, len(w))
	}
	return n
}

func TestWireBuffer(t *testing.T) {
	t.Parallel()

	t.Run("passes_writes_through_unless_held", func(t *testing.T) {
		t.Parallel()
		r := &recorder{}
		w := newWire(r, time.Second)
		for range 3 {
			_, _ = w.Write([]byte("abc"))
		}
		if got := len(r.writes); got != 3 {
			t.Errorf("%d writes, want 3", got)
		}
	})

	t.Run("gathers_writes_until_flush_and_keeps_their_order", func(t *testing.T) {
		t.Parallel()
		r := &recorder{}
		w := newWire(r, time.Second)
		var want []byte
		w.hold()
		for i := range 1000 {
			b := bytes.Repeat([]byte{byte(i)}, i)
			want = append(want, b...)
			if n, err := w.Write(b); n != len(b) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		big := bytes.Repeat([]byte{1}, 3*wireBuffer)
		want = append(want, big...)
		_, _ = w.Write(big)
		_, _ = w.Write([]byte("end"))
		w.flush()
		_, _ = w.Write([]byte("direct"))
		want = append(want, "enddirect"...)
		if got := bytes.Join(r.writes, nil); !bytes.Equal(got, want) {
			t.Error("bytes differ from what was written")
		}
		if got := len(r.writes); got > len(want)/wireBuffer*2 {
			t.Errorf("%d writes of sizes %v for %d bytes", got, r.sizes(), len(want))
		}
	})

	t.Run("is_cut_when_the_peer_stops_reading", func(t *testing.T) {
		t.Parallel()
		ours, theirs := net.Pipe()
		w := newWire(ours, 50*time.Millisecond)
		if _, err := w.Write([]byte("nobody reads this")); err == nil {
			t.Error("Write succeeded without a reader")
		}
		if !w.dead() {
			t.Error("the wire lives on after half a write")
		}
		if _, err := io.ReadAll(theirs); err != nil {
			t.Errorf("the peer was not closed: %v", err)
		}
	})

	t.Run("can_be_cut_while_a_write_hangs", func(t *testing.T) {
		t.Parallel()
		ours, _ := net.Pipe()
		w := newWire(ours, time.Hour)
		done := make(chan error, 1)
		go func() { _, err := w.Write([]byte("hangs")); done <- err }()
		w.kill()
		if err := <-done; err == nil {
			t.Error("Write succeeded on a cut wire")
		}
	})
}
