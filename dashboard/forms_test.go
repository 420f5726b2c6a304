package dashboard_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/postroom/postroom/dashboard"
)

// client is a browser without a browser: it keeps cookies, and sends the forms that it finds.
type client struct {
	testing.TB
	http *http.Client
	site string
}

func newClient(t testing.TB, site string) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, &http.Client{Jar: jar}, site}
}

func (c *client) get(path string) answer {
	c.Helper()
	return fetch(c, c.http, http.MethodGet, c.site+path, "")
}

func (c *client) post(path string, form url.Values, header ...string) answer {
	c.Helper()
	return fetch(c, c.http, http.MethodPost, c.site+path, form.Encode(), header...)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// form opens a page and returns the hidden fields of its last form.
func (c *client) form(path string) url.Values {
	c.Helper()
	page := c.get(path)
	if page.status != http.StatusOK {
		c.Fatalf("%s: %d", path, page.status)
	}
	form := url.Values{}
	_, last, _ := cutLast(page.body, `method="post"`)
	for _, m := range hidden.FindAllStringSubmatch(last, -1) {
		form.Set(m[1], m[2])
	}
	if form.Get("token") == "" {
		c.Fatalf("%s has no form with a token:\n%s", path, page.body)
	}
	return form
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func with(form url.Values, name, value string) url.Values {
	form.Set(name, value)
	return form
}

func TestForms(t *testing.T) {
	t.Parallel()
	const preview = "/act?deed=discard&status=parked"
	for name, c := range map[string]struct {
		edit   func(url.Values)
		header []string
		other  bool // another visitor's form
	}{
		"without_a_token_do_nothing":        {edit: func(f url.Values) { f.Del("token") }},
		"with_a_false_token_do_nothing":     {edit: func(f url.Values) { f.Set("token", "x"+f.Get("token")) }},
		"of_another_visitor_do_nothing":     {other: true},
		"from_another_origin_do_nothing":    {header: []string{"Origin", "https://evil.example"}},
		"from_another_site_do_nothing":      {header: []string{"Sec-Fetch-Site", "cross-site"}},
		"from_another_subdomain_do_nothing": {header: []string{"Sec-Fetch-Site", "same-site"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newDemo()
			c1 := newClient(t, serveDemo(t, store, nil))
			form := with(c1.form(preview), "reason", "because")
			if c.other {
				jar := newClient(t, c1.site)
				form.Set("token", jar.form(preview).Get("token"))
			}
			if c.edit != nil {
				c.edit(form)
			}
			got := c1.post("/act", form, c.header...)
			if got.status != http.StatusForbidden || !strings.Contains(got.body, "Nothing was done.") {
				t.Errorf("answered %d:\n%s", got.status, got.body)
			}
			if len(store.audit) != 5 {
				t.Errorf("something was done: %+v", store.audit[5:])
			}
		})
	}

	t.Run("are_bound_to_who_they_were_made_for", func(t *testing.T) {
		t.Parallel()
		store, visitor := newDemo(), operator
		c := newClient(t, serveDemo(t, store, func(config *dashboard.Config) {
			config.Authorize = func(*http.Request) (dashboard.Visitor, error) { return visitor, nil }
		}))
		form := with(c.form(preview), "reason", "because")
		visitor.Name = "somebody else"
		if got := c.post("/act", form); got.status != http.StatusForbidden {
			t.Errorf("answered %d", got.status)
		}
	})

	t.Run("are_of_no_use_once_the_role_is_taken_away", func(t *testing.T) {
		t.Parallel()
		store, visitor := newDemo(), operator
		c := newClient(t, serveDemo(t, store, func(config *dashboard.Config) {
			config.Authorize = func(*http.Request) (dashboard.Visitor, error) { return visitor, nil }
		}))
		form := with(c.form(preview), "reason", "because")
		visitor.Act = false
		if got := c.post("/act", form); got.status != http.StatusForbidden || len(store.audit) != 5 {
			t.Errorf("answered %d, recorded %+v", got.status, store.audit[5:])
		}
	})

	t.Run("of_one_page_do_not_serve_another", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, serveDemo(t, newDemo(), nil))
		form := url.Values{"token": {c.form("/pauses").Get("token")}, "deed": {"discard"}, "reason": {"because"}}
		if got := c.post("/act", form); got.status != http.StatusForbidden {
			t.Errorf("answered %d", got.status)
		}
	})

	t.Run("need_no_memory_of_the_process_that_made_them", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		one, two := serveDemo(t, store, nil), serveDemo(t, store, nil)
		c := newClient(t, one)
		form := with(c.form(preview), "reason", "because")
		c.site = two // cookies do not know ports
		if got := c.post("/act", form); got.status != http.StatusOK || !strings.Contains(got.body, "Discarded 17 messages.") {
			t.Errorf("answered %d:\n%s", got.status, got.body)
		}
	})

	t.Run("keep_their_secret_in_a_cookie_that_scripts_and_other_sites_do_not_get", func(t *testing.T) {
		t.Parallel()
		site := serveDemo(t, newDemo(), nil)
		cookie := look(t, site+"/pauses").header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("cookie %q lacks %s", cookie, want)
			}
		}
	})
}
