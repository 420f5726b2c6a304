package cpu_test

import (
	"net"
	"runtime"
	"testing"

	"github.com/postroom/postroom/bench/internal/cpu"
)

func TestMeter(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m := cpu.NewMeter(map[string]string{
		"listener": "test://user:word@" + l.Addr().String() + "/name", "nobody": "127.0.0.1:1",
	})
	before := m.Seconds()
	for used := 0.0; used < 0.05; used = m.Since(before)["client"] {
		runtime.Gosched()
	}
	after := m.Since(before)
	if after["listener"] < 0.05 {
		t.Errorf("the listener is this process and used %v s, want at least 0.05", after["listener"])
	}
	if _, ok := after["nobody"]; ok || len(after) != 2 {
		t.Errorf("got %v, want client and listener alone", after)
	}
}
