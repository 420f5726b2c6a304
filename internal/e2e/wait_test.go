package e2e

import (
	"context"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It decides nothing: two busy cores are slow at times.
const patience = 2 * time.Minute

// eventually waits until missing returns nothing, and fails with what it returned last.
func eventually(t *testing.T, missing func() string) {
	t.Helper()
	eventuallyEvery(t, 10*time.Millisecond, missing)
}

func eventuallyEvery(t *testing.T, pause time.Duration, missing func() string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		what := missing()
		if what == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}

// within returns a context that ends with the test's patience, also in a cleanup.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// drop tells of an error while cleaning up, which is worth knowing and decides nothing.
func drop(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Logf("remove %s: %v", what, err)
	}
}
