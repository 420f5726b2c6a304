package gormstore

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	slowStatement = 25 * time.Millisecond
	replanRest    = time.Second     // after a new text, doubled by each that follows
	replanMost    = 2 * time.Minute // is the longest rest
	replanCalm    = 5 * time.Minute // without a new text, and the rest is short again
)

// replanner gets rid of bad plans. A plan that was prepared when the table was nearly empty reads all of it when it
// is full, for as long as the connection lives; another text is planned anew. Where the machine is slow and not the
// plan, new texts do not help and cost a plan each, so they come ever more rarely.
type replanner struct {
	version atomic.Int64
	mu      sync.Mutex
	last    time.Time
	rest    time.Duration
}

// text returns sql in its present version.
func (r *replanner) text(sql string) string {
	v := r.version.Load()
	if v == 0 {
		return sql
	}
	return sql + " /* plan " + strconv.FormatInt(v, 10) + " */"
}

// took changes the text after a slow statement.
func (r *replanner) took(start time.Time) {
	if now := time.Now(); now.Sub(start) >= slowStatement {
		r.slow(now)
	}
}

func (r *replanner) slow(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := now.Sub(r.last)
	switch {
	case since < r.rest:
		return
	case since > replanCalm:
		r.rest = replanRest
	default:
		r.rest = min(2*r.rest, replanMost)
	}
	r.last = now
	r.version.Add(1)
}
