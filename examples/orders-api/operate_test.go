package main

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// visit opens a page as somebody, or as nobody.
func visit(t *testing.T, page string, who *url.Userinfo) (status int, body string) {
	t.Helper()
	address, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	address.User = who
	status, text, _ := send(t, http.MethodGet, address.String(), "")
	return status, string(text)
}

func TestDashboard(t *testing.T) {
	t.Parallel()

	t.Run("shows_nothing_without_the_password", func(t *testing.T) {
		t.Parallel()
		shop, _ := newShop(t)
		place(t, shop)
		guess := url.UserPassword(operatorName, "password")
		for _, who := range []*url.Userinfo{nil, url.UserPassword(operatorName, ""), guess} {
			for _, path := range []string{"", "/", "/messages", "/assets/style.css"} {
				if status, body := visit(t, shop+pagesPath+path, who); status != http.StatusUnauthorized || body != "" {
					t.Errorf("%s as %v: %d %q", path, who, status, body)
				}
			}
		}
	})

	t.Run("lets_in_by_the_login_that_is_printed_and_shows_the_traffic", func(t *testing.T) {
		t.Parallel()
		lines := startShop(t, environment{})
		login := regexp.MustCompile(`(http://[0-9.:]+)/outbox as (\S+) with the password (\S+)`)
		var said []string
		for said == nil {
			said = login.FindStringSubmatch(readLine(t, lines))
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		shop, who := said[1], url.UserPassword(said[2], said[3])

		waitForShipment(t, shop, place(t, shop).ID)
		for path, wants := range map[string][]string{
			"/":         {"Overview", "Delivered by this process"},
			"/messages": {"Nothing is stored."},
			"/relays":   {"live", "ready"},
		} {
			status, body := visit(t, shop+pagesPath+path, who)
			for _, want := range wants {
				if status != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%s: %d, without %q", path, status, want)
				}
			}
		}
		delivered := regexp.MustCompile(`Delivered</dt><dd>1</dd>`)
		tick := time.NewTicker(glance)
		defer tick.Stop()
		for end := time.Now().Add(deadline); ; <-tick.C {
			if _, body := visit(t, shop+pagesPath+"/relays", who); delivered.MatchString(body) {
				return
			}
			if time.Now().After(end) {
				t.Fatal("the relay is not shown to have delivered the message")
			}
		}
	})
}
