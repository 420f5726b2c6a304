package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// The points where a relay can be killed, in the order of a message's way.
const (
	atClaim     = "claim"
	atClaimed   = "claimed"
	atPublish   = "publish"
	atConfirmed = "confirmed"
	atSettle    = "settle"
	atSettled   = "settled"
	atRenew     = "renew"
	atTakeover  = "takeover"
)

// points kills the process at the one that was armed last.
type points struct {
	armed atomic.Pointer[order]
}

type order struct {
	point string
	delay time.Duration
}

// pass is called at a point.
func (p *points) pass(point string) {
	o := p.armed.Load()
	if o == nil || o.point != point || !p.armed.CompareAndSwap(o, nil) {
		return
	}
	if o.delay == 0 {
		die(point)
	}
	time.AfterFunc(o.delay, func() { die(point) })
}

// die says where and ends the process as a crash does.
func die(point string) {
	tell(event{Event: "killed", Point: point})
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// obey arms points as the lines of in say. Its end means that nobody looks after this process any more.
func obey(in io.Reader, p *points) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var point, delay string
		if _, err := fmt.Sscanf(lines.Text(), "kill %s %s", &point, &delay); err != nil {
			slog.Error("order not understood", "line", lines.Text())
			continue
		}
		d, err := time.ParseDuration(delay)
		if err != nil {
			slog.Error("order not understood", "line", lines.Text())
			continue
		}
		p.armed.Store(&order{point, d})
	}
	os.Exit(3)
}
