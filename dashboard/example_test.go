package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox/memstore"
)

// An application that knows its users by a middleware of its own lets the operators among them in.
func ExampleNew() {
	authorize := func(r *http.Request) (dashboard.Visitor, error) {
		user := userOf(r)
		return dashboard.Visitor{Name: user, Counts: user != "", Payloads: user == "operator", Act: user == "operator"}, nil
	}
	handler, err := dashboard.New(dashboard.Config{
		Store:     memstore.New(memstore.Config{}), // or a *gormstore.Store
		Prefix:    "/outbox",
		Authorize: authorize,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	router := chi.NewRouter()
	router.Mount("/outbox", handler)

	for _, user := range []string{"", "operator"} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/outbox/", nil)
		request.Header.Set("X-User", user)
		router.ServeHTTP(answer, request)
		fmt.Printf("%q: %s\n", user, http.StatusText(answer.Code))
	}
	// Output:
	// "": Forbidden
	// "operator": OK
}

// userOf stands for the login of an application.
func userOf(r *http.Request) string { return r.Header.Get("X-User") }

// Without an authorizer there is no dashboard.
func ExampleNew_closed() {
	_, err := dashboard.New(dashboard.Config{Store: memstore.New(memstore.Config{})})
	fmt.Println(err)
	// Output:
	// outbox: Authorize: missing: say who may see and do what; there is no dashboard that is open to everybody
}
