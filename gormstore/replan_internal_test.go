package gormstore

import (
	"testing"
	"time"
)

func TestReplanner(t *testing.T) {
	t.Parallel()
	texts := func(r *replanner, start time.Time, d time.Duration) int64 {
		before := r.version.Load()
		for at := time.Duration(0); at < d; at += 50 * time.Millisecond {
			r.slow(start.Add(at))
		}
		return r.version.Load() - before
	}
	start := time.Now()
	t.Run("plans_anew_at_the_first_slow_statement", func(t *testing.T) {
		t.Parallel()
		r := &replanner{}
		if r.slow(start); r.text("SELECT") == "SELECT" {
			t.Error("the text is the same")
		}
	})
	t.Run("plans_ever_more_rarely_where_that_does_not_help", func(t *testing.T) {
		t.Parallel()
		r := &replanner{}
		if n := texts(r, start, time.Minute); n != 6 { // after 0, 1, 3, 7, 15 and 31 seconds
			t.Errorf("%d new texts in the first minute of slow statements, want 6", n)
		}
		if n := texts(r, start.Add(time.Minute), time.Hour); n < 29 || n > 31 {
			t.Errorf("%d new texts in the hour after it, want one each two minutes", n)
		}
	})
	t.Run("plans_at_once_again_after_a_calm", func(t *testing.T) {
		t.Parallel()
		r := &replanner{}
		texts(r, start, time.Minute)
		later := start.Add(time.Minute + 2*replanCalm)
		if n := texts(r, later, 3*time.Second); n != 2 {
			t.Errorf("%d new texts in 3 seconds after a calm, want 2: at once and after a second", n)
		}
	})
}
