package amqp_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/amqp"
)

// refusing is a broker that answers each login with the end of the connection, and with a reason of this code.
func refusing(t *testing.T, code uint16, reason string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	start := []byte("\x00\x0a\x00\x0a\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US")
	end := binary.BigEndian.AppendUint16([]byte("\x00\x0a\x00\x32"), code)
	end = append(append(end, byte(len(reason))), reason...)
	end = append(end, 0, 0, 0, 0) // over no method
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.CopyN(io.Discard, conn, 8) // the header of the protocol
				_, _ = conn.Write(frame(start))
				_, _ = io.CopyN(io.Discard, conn, 1) // of start-ok
				_, _ = conn.Write(frame(end))
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return "amqp://user:hunter2@" + listener.Addr().String()
}

// TestLogin: what a broker says about a login is said about no exchange, though the codes are the same.
func TestLogin(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]uint16{
		"that_is_refused": 403, "to_what_is_not_there": 404, "that_is_not_allowed": 530,
	} {
		t.Run(name+"_is_an_outage_and_its_reason_is_told", func(t *testing.T) {
			t.Parallel()
			p := open(t, amqp.Config{URLs: []string{refusing(t, code, "go away")}})
			results := p.Publish(within(t, time.Minute), messages(1, "some", "placed"))
			wantTally(t, results, map[string]int{"unavailable": 1})
			if err := results[0].Err(); err == nil || !strings.Contains(err.Error(), "go away") {
				t.Errorf("got %v, want the broker's reason in it", err)
			}
		})
	}
}
