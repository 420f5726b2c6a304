package results

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// idleWindow is how long the processors have to be idle.
const idleWindow = 2 * time.Second

// WaitIdle waits until the processors were idle for the given share (0 to 1) of two seconds, or until ctx ends. It does
// not wait for share 0, or where nobody tells what the processors do.
func WaitIdle(ctx context.Context, share float64) {
	tick := time.NewTicker(idleWindow)
	defer tick.Stop()
	before, ok := readTicks()
	for ok && share > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now, _ := readTicks()
		if now.idleSince(before) >= share {
			return
		}
		before = now
	}
}

// ticks count what the processors have done since the machine started.
type ticks struct{ idle, all int64 }

func (t ticks) idleSince(before ticks) float64 {
	if t.all <= before.all {
		return 0
	}
	return float64(t.idle-before.idle) / float64(t.all-before.all)
}

func readTicks() (ticks, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ticks{}, false
	}
	return parseTicks(string(text))
}

// parseTicks reads the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait and more; what waits for a
// disk counts as idle.
func parseTicks(text string) (t ticks, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return ticks{}, false
	}
	for i, field := range fields[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return ticks{}, false
		}
		t.all += n
		if i == 3 || i == 4 {
			t.idle += n
		}
	}
	return t, true
}
