package main

import (
	"crypto/rand"
	"net/http"

	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

const (
	pagesPath    = "/outbox"
	operatorName = "operator"
)

// pages are the dashboard behind a login. A program that is no example has users of its own, and asks them.
type pages struct {
	*dashboard.Dashboard
	password string // another one at each start
}

func newPages(store outbox.Inspector, relays ...*outbox.Relay) (pages, error) {
	var shown []dashboard.Relay
	for _, r := range relays {
		shown = append(shown, r)
	}
	d, err := dashboard.New(dashboard.Config{
		Store: store, Prefix: pagesPath, Title: "orders-api", Relays: shown, Authorize: authorize,
	})
	return pages{d, rand.Text()}, err
}

// authorize finds out who has logged in.
func authorize(r *http.Request) (dashboard.Visitor, error) {
	name, _, ok := r.BasicAuth()
	return dashboard.Visitor{Name: name, Payloads: ok, Act: ok}, nil
}

// handler lets in who knows the password.
func (p pages) handler() http.Handler {
	login := chimiddleware.BasicAuth("orders-api", map[string]string{operatorName: p.password})
	return login(p.Dashboard)
}
