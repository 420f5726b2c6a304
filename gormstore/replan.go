package gormstore

import (
	"strconv"
	"sync/atomic"
	"time"
)

const (
	slowStatement = 25 * time.Millisecond
	replanRest    = time.Second
)

// replanner gets rid of bad plans. A plan that was prepared when the table was nearly empty reads all of it when it
// is full, for as long as the connection lives; another text is planned anew.
type replanner struct {
	version atomic.Int64
	last    atomic.Int64 // unix nanoseconds
}

// text returns sql in its present version.
func (r *replanner) text(sql string) string {
	v := r.version.Load()
	if v == 0 {
		return sql
	}
	return sql + " /* plan " + strconv.FormatInt(v, 10) + " */"
}

// took changes the text after a slow statement, at most once a second.
func (r *replanner) took(start time.Time) {
	now := time.Now()
	last := r.last.Load()
	if now.Sub(start) < slowStatement || now.UnixNano()-last < int64(replanRest) {
		return
	}
	if r.last.CompareAndSwap(last, now.UnixNano()) {
		r.version.Add(1)
	}
}
