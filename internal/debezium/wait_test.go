//go:build soak

package debezium

import (
	"context"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen: a connector takes seconds to start, and more on busy
// processors.
const patience = 2 * time.Minute

// within returns a context that ends with the test's patience, also in a cleanup.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until missing returns nothing, and fails with what it returned last.
func eventually(t testing.TB, missing func() string) {
	t.Helper()
	if what := wait(missing); what != "" {
		t.Fatalf("after %v: %s", patience, what)
	}
}

// wait returns what is missing at the end of the test's patience.
func wait(missing func() string) (what string) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if what = missing(); what == "" {
			return ""
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return what
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
