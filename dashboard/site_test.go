package dashboard_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// who lets a visitor in with every request.
func who(v dashboard.Visitor) dashboard.Authorizer {
	return func(*http.Request) (dashboard.Visitor, error) { return v, nil }
}

var (
	operator = dashboard.Visitor{Name: "on-call", Payloads: true, Act: true}
	counter  = dashboard.Visitor{Name: "wallboard", Counts: true}
)

func newDashboard(t testing.TB, store outbox.Inspector, edit func(*dashboard.Config)) *dashboard.Dashboard {
	t.Helper()
	config := dashboard.Config{Store: store, Authorize: who(operator), Prefix: "/outbox", Logger: quiet}
	if edit != nil {
		edit(&config)
	}
	d, err := dashboard.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// serve mounts a dashboard in a chi router, as an application does, and returns where it is.
func serve(t testing.TB, d *dashboard.Dashboard) string {
	t.Helper()
	router := chi.NewRouter()
	router.Mount("/outbox", d)
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL + "/outbox"
}

// serveDemo serves the demo as it is at demoTime.
func serveDemo(t testing.TB, store *demo, edit func(*dashboard.Config)) string {
	t.Helper()
	d := newDashboard(t, store, edit)
	dashboard.SetClock(d, func() time.Time { return demoTime })
	return serve(t, d)
}
