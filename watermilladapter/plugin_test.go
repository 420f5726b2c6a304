package watermilladapter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/watermilladapter"
)

// deadline bounds what must happen, and decides nothing: two busy cores are slow at times. A moment is what must not
// happen gets to happen all the same.
const (
	deadline = time.Minute
	moment   = 50 * time.Millisecond
)

// settlingRelay runs until its context has ended and then until it is told that its batch is settled.
type settlingRelay struct {
	stopping, settled chan struct{}
}

func newSettlingRelay() *settlingRelay {
	return &settlingRelay{stopping: make(chan struct{}), settled: make(chan struct{})}
}

func (r *settlingRelay) Run(ctx context.Context) error {
	<-ctx.Done()
	close(r.stopping)
	<-r.settled
	return nil
}

// runnerFunc is a relay made of a function.
type runnerFunc func(ctx context.Context) error

func (f runnerFunc) Run(ctx context.Context) error { return f(ctx) }

func newRouter(t *testing.T, plugins ...message.RouterPlugin) *message.Router {
	t.Helper()
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: deadline}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	router.AddPlugin(plugins...)
	return router
}

// start runs f beside the test and returns what will hold its error.
func start(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

func within[T any](t *testing.T, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(deadline):
		t.Fatalf("%s: nothing happened in %v", what, deadline)
	}
	return got
}

// wantWaiting checks that c stays silent until the relay is told that its batch is settled, and then speaks.
func wantWaiting(t *testing.T, relay *settlingRelay, what string, c <-chan error) {
	t.Helper()
	within(t, "the relay's context ends", relay.stopping)
	select {
	case err := <-c:
		t.Errorf("%s ended before the relay had settled: %v", what, err)
		close(relay.settled)
		return
	case <-time.After(moment):
	}
	close(relay.settled)
	if err := within(t, what, c); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()

	t.Run("ends_with_the_routers_context_after_the_relay_has_settled", func(t *testing.T) {
		t.Parallel()
		relay := newSettlingRelay()
		router := newRouter(t, watermilladapter.Plugin(relay, nil))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := start(func() error { return router.Run(ctx) })
		within(t, "the router runs", router.Running())
		cancel()
		wantWaiting(t, relay, "Run", ended)
	})

	t.Run("makes_close_wait_for_the_relay", func(t *testing.T) {
		t.Parallel()
		relay := newSettlingRelay()
		router := newRouter(t, watermilladapter.Plugin(relay, nil))
		ended := start(func() error { return router.Run(t.Context()) })
		within(t, "the router runs", router.Running())
		wantWaiting(t, relay, "Close", start(router.Close))
		if err := within(t, "Run", ended); err != nil {
			t.Error(err)
		}
	})

	t.Run("closes_the_router_and_its_other_handlers_when_the_relay_fails", func(t *testing.T) {
		t.Parallel()
		other, fail := newSettlingRelay(), make(chan struct{})
		failing := runnerFunc(func(context.Context) error {
			<-fail
			return errBroken
		})
		failed := make(chan error, 1)
		router := newRouter(t,
			watermilladapter.Plugin(other, nil),
			watermilladapter.Plugin(failing, func(err error) { failed <- err }))
		ended := start(func() error { return router.Run(t.Context()) })
		within(t, "the router runs", router.Running())
		close(fail)
		if err := within(t, "the error is handed on", failed); !errors.Is(err, errBroken) {
			t.Errorf("failed got %v", err)
		}
		wantWaiting(t, other, "Run", ended)
	})

	t.Run("closes_the_router_when_the_relay_fails_at_once_and_nobody_listens", func(t *testing.T) {
		t.Parallel()
		failing := runnerFunc(func(context.Context) error { return errBroken })
		router := newRouter(t, watermilladapter.Plugin(failing, nil))
		if err := within(t, "Run", start(func() error { return router.Run(t.Context()) })); err != nil {
			t.Fatal(err)
		}
		if !router.IsClosed() {
			t.Error("the router is still open")
		}
	})
}
