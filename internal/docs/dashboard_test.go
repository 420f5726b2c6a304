package docs_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

func mountDashboard(r chi.Router, store *gormstore.Store, relay *outbox.Relay) error {
	pages, err := dashboard.New(dashboard.Config{
		Store: store, Prefix: "/outbox", Relays: []dashboard.Relay{relay},
		Authorize: func(r *http.Request) (dashboard.Visitor, error) {
			user := userOf(r) // whom your own login knows; a visitor without a role is refused
			return dashboard.Visitor{Name: user.Name, Counts: user.Staff, Payloads: user.OnCall, Act: user.OnCall}, nil
		},
	})
	if err != nil {
		return err
	}
	r.Mount("/outbox", pages)
	return nil
}

type user struct {
	Name          string
	Staff, OnCall bool
}

func userOf(r *http.Request) user {
	return user{Name: r.Header.Get("X-User"), Staff: r.Header.Get("X-User") != ""}
}

func TestDashboardSnippet(t *testing.T) {
	t.Parallel()
	t.Run("mounts_pages_for_those_who_may_see_them", func(t *testing.T) {
		t.Parallel()
		store, err := gormstore.Open(openShop(t), gormstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		nobody := outbox.PublisherFunc(func(context.Context, *outbox.Message) error { return nil })
		relay, err := outbox.NewRelay(store, nobody, outbox.RelayConfig{})
		if err != nil {
			t.Fatal(err)
		}
		r := chi.NewRouter()
		if err := mountDashboard(r, store, relay); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"": http.StatusForbidden, "someone": http.StatusOK} {
			answer := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/outbox/messages", nil)
			request.Header.Set("X-User", name)
			r.ServeHTTP(answer, request)
			if answer.Code != want {
				t.Errorf("%q got %d, want %d", name, answer.Code, want)
			}
		}
	})
}
