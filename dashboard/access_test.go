package dashboard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

// paths are all pages, with assets.
func paths(store *demo) []string {
	return []string{
		"/", "/messages", "/messages?status=parked", "/messages/" + store.records[1].ID.String(), "/failures", "/held",
		"/relays", "/pauses", "/audit", "/act?deed=requeue&status=parked", "/assets/style.css", "/assets/script.js", "/none",
	}
}

// answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func fetch(t testing.TB, client *http.Client, method, url, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(text)}
}

func look(t testing.TB, url string) answer {
	t.Helper()
	return fetch(t, http.DefaultClient, http.MethodGet, url, "")
}

func TestNew(t *testing.T) {
	t.Parallel()
	let := who(operator)
	complete := dashboard.Config{Store: newDemo(), Authorize: let, Prefix: "/outbox"}
	prefix, timeout := complete, complete
	prefix.Prefix, timeout.Timeout = "outbox", -1
	for name, c := range map[string]struct {
		config dashboard.Config
		field  string
	}{
		"refuses_to_exist_without_an_authorizer":       {dashboard.Config{Store: newDemo()}, "Authorize"},
		"refuses_to_exist_without_a_store":             {dashboard.Config{Authorize: let}, "Store"},
		"refuses_a_prefix_that_is_no_path":             {prefix, "Prefix"},
		"refuses_a_timeout_that_is_over_at_the_outset": {timeout, "Timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := dashboard.New(c.config)
			field, ok := errors.AsType[*outbox.FieldError](err)
			if d != nil || !ok || field.Field != c.field {
				t.Errorf("got %v, %v; want an error of field %s", d, err, c.field)
			}
		})
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()

	t.Run("a_visitor_without_a_role_sees_nothing", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		site := serveDemo(t, store, func(c *dashboard.Config) { c.Authorize = who(dashboard.Visitor{Name: "someone"}) })
		for _, path := range append(paths(store), "") {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodDelete} {
				got := fetch(t, http.DefaultClient, method, site+path, "")
				if got.status != http.StatusForbidden || method != http.MethodHead && got.body != "Forbidden\n" {
					t.Errorf("%s %s: %d %q", method, path, got.status, got.body)
				}
				wantHard(t, path, got.header)
			}
		}
	})

	t.Run("nobody_sees_anything_while_nobody_knows_who_asks", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		unsure := func(*http.Request) (dashboard.Visitor, error) { return operator, errors.New("directory is down") }
		site := serveDemo(t, store, func(c *dashboard.Config) { c.Authorize = unsure })
		for _, path := range paths(store) {
			got := look(t, site+path)
			if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "directory") {
				t.Errorf("%s: %d %q", path, got.status, got.body)
			}
		}
	})

	t.Run("who_sees_counts_sees_no_key_payload_or_header_value", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		site := serveDemo(t, store, func(c *dashboard.Config) { c.Authorize = who(counter) })
		for _, path := range paths(store) {
			got := look(t, site+path)
			for _, secret := range []string{"customer-", "warehouse-2", "o-482", "total_cents", "req-7712", "00-4bf9"} {
				if strings.Contains(got.body, secret) {
					t.Errorf("%s shows %s", path, secret)
				}
			}
		}
		if got := look(t, site+"/messages/"+store.records[1].ID.String()); !strings.Contains(got.body, "correlation_id") {
			t.Error("the names of headers are hidden, too")
		}
	})

	t.Run("who_sees_counts_cannot_ask_for_a_key", func(t *testing.T) {
		t.Parallel()
		site := serveDemo(t, newDemo(), func(c *dashboard.Config) { c.Authorize = who(counter) })
		for _, path := range []string{"/messages?key=customer-1040", "/messages?key=nobody"} {
			if got := look(t, site+path); got.status != http.StatusForbidden {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	})

	t.Run("who_may_act_sees_keys_and_no_payload", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		actor := dashboard.Visitor{Name: "actor", Act: true}
		site := serveDemo(t, store, func(c *dashboard.Config) { c.Authorize = who(actor) })
		got := look(t, site+"/messages/"+store.records[1].ID.String())
		if !strings.Contains(got.body, "customer-1040") || strings.Contains(got.body, "total_cents") ||
			strings.Contains(got.body, "req-7712") {
			t.Errorf("shows %s", got.body)
		}
	})

	t.Run("who_may_not_act_is_offered_no_act_and_refused_each", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		site := serveDemo(t, store, func(c *dashboard.Config) {
			c.Authorize = who(dashboard.Visitor{Name: "reader", Payloads: true})
		})
		for _, path := range paths(store) {
			if got := look(t, site+path); strings.Contains(got.body, "equeue…") || strings.Contains(got.body, `method="post"`) {
				t.Errorf("%s offers acts", path)
			}
		}
		for _, path := range []string{"/act?deed=discard", "/act", "/pauses"} {
			method := http.MethodPost
			if strings.Contains(path, "?") {
				method = http.MethodGet
			}
			if got := fetch(t, http.DefaultClient, method, site+path, "deed=discard"); got.status != http.StatusForbidden {
				t.Errorf("%s %s: %d", method, path, got.status)
			}
		}
		if len(store.audit) != 5 {
			t.Errorf("something was done: %+v", store.audit)
		}
	})
}

// wantHard checks what every answer carries.
func wantHard(t *testing.T, path string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'",
		"base-uri 'none'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s: policy %q lacks %s", path, policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("%s: policy %q", path, policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()

	t.Run("are_hardened_and_pages_are_kept_by_nobody", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		site := serveDemo(t, store, nil)
		for _, path := range paths(store) {
			got := look(t, site+path)
			wantHard(t, path, got.header)
			want := "no-store"
			if strings.HasPrefix(path, "/assets/") {
				want = "private, max-age=86400"
			}
			if got.header.Get("Cache-Control") != want {
				t.Errorf("%s: Cache-Control %q", path, got.header.Get("Cache-Control"))
			}
		}
	})

	t.Run("to_other_methods_are_refusals", func(t *testing.T) {
		t.Parallel()
		site := serveDemo(t, newDemo(), nil)
		if got := fetch(t, http.DefaultClient, http.MethodDelete, site+"/messages", ""); got.status < 400 {
			t.Errorf("DELETE was answered with %d", got.status)
		}
	})
}

func TestMount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prefix string
		mount  func(d http.Handler) http.Handler
		at     string
	}{
		"in_a_chi_router": {"/outbox", func(d http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Mount("/outbox", d)
			return r
		}, "/outbox"},
		"deep_in_chi_routers": {"/admin/ops/outbox", func(d http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Route("/admin", func(r chi.Router) { r.Route("/ops", func(r chi.Router) { r.Mount("/outbox", d) }) })
			return r
		}, "/admin/ops/outbox"},
		"behind_StripPrefix": {"", func(d http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/outbox/", http.StripPrefix("/outbox", d))
			mux.Handle("/outbox", http.StripPrefix("/outbox", d))
			return mux
		}, "/outbox"},
		"in_a_ServeMux": {"/outbox/", func(d http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/outbox/", d)
			return mux
		}, "/outbox"},
		"alone": {"", func(d http.Handler) http.Handler { return d }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newDemo()
			d := newDashboard(t, store, func(config *dashboard.Config) { config.Prefix = c.prefix })
			server := httptest.NewServer(c.mount(d))
			defer server.Close()
			for _, path := range paths(store) {
				want := http.StatusOK
				if path == "/none" {
					want = http.StatusNotFound
				}
				if got := look(t, server.URL+c.at+path); got.status != want {
					t.Errorf("%s: %d, want %d", path, got.status, want)
				}
			}
			if got := look(t, server.URL+c.at); got.status != http.StatusOK || !strings.Contains(got.body, "Overview") {
				t.Errorf("without a slash: %d", got.status)
			}
			for _, path := range []string{"//evil.example", "/messages//x", "/../x"} {
				if got := look(t, server.URL+c.at+path); got.status == http.StatusOK && strings.Contains(got.body, "Overview") {
					t.Errorf("%s was answered with a page", path)
				}
			}
		})
	}
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, newDemo(), nil)
	for _, path := range []string{
		"/outbox//", "/outbox//messages", "/outbox///evil.example", "/outbox/messages//x", "/outbox/../x", "/outboxmessages",
		"/elsewhere", "/",
	} {
		t.Run("neither_serves_nor_leads_out_of_the_prefix_at_"+path, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != http.StatusNotFound || w.Header().Get("Location") != "" {
				t.Errorf("%d, to %q; want 404", w.Code, w.Header().Get("Location"))
			}
		})
	}
}
