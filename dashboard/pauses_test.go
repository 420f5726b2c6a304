package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
)

func TestPauses(t *testing.T) {
	t.Parallel()

	t.Run("begin_and_end_by_forms_with_who_and_why", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		b := openTab(t, serveDemo(t, store, nil))
		b.open("/pauses")
		b.fill("#p-name", "orders")
		b.fill("#p-reason", "consumer is being fixed")
		b.click("form.form button[type=submit]")
		if text := b.text("main"); !strings.Contains(text, "Paused.") || !strings.Contains(text, "consumer is being fixed") {
			t.Errorf("the page shows\n%s", text)
		}
		b.fill("#r-1", "mail is back")
		b.click("li:nth-child(2) button[type=submit]")
		want := []outbox.Pause{
			store.pauses[0],
			{Scope: outbox.Scope{Topic: "orders"}, Act: outbox.Act{By: "on-call", Reason: "consumer is being fixed"}, At: demoTime},
		}
		if d := cmp.Diff(want, store.pauses); d != "" {
			t.Errorf("pauses (-want +got):\n%s", d)
		}
		deeds := []string{store.audit[5].Deed, store.audit[6].Deed}
		if !slices.Equal(deeds, []string{"pause", "resume"}) || store.audit[6].Topic != "notifications" {
			t.Errorf("recorded %+v", store.audit[5:])
		}
		b.wantCalm()
	})

	t.Run("of_everything_or_a_key_are_said_so", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		c := newClient(t, serveDemo(t, store, nil))
		for _, form := range []url.Values{
			{"scope": {"all"}, "name": {"orders"}}, {"scope": {"key"}, "name": {"c-1"}},
		} {
			form.Set("token", c.form("/pauses").Get("token"))
			form.Set("deed", "pause")
			form.Set("reason", "because")
			if got := c.post("/pauses", form); got.status != http.StatusOK {
				t.Errorf("answered %d:\n%s", got.status, got.body)
			}
		}
		want := []outbox.Scope{{}, {Key: "c-1"}}
		if got := []outbox.Scope{store.pauses[2].Scope, store.pauses[3].Scope}; !slices.Equal(got, want) {
			t.Errorf("paused %+v, want %+v", got, want)
		}
	})

	t.Run("of_nothing_that_is_named_are_refused", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		c := newClient(t, serveDemo(t, store, nil))
		for _, form := range []url.Values{
			{"scope": {"topic"}}, {"scope": {"key"}}, {}, {"scope": {"all"}, "reason": {""}}, {"scope": {"all"}, "deed": {"stop"}},
		} {
			form.Set("token", c.form("/pauses").Get("token"))
			if !form.Has("deed") {
				form.Set("deed", "pause")
			}
			if !form.Has("reason") {
				form.Set("reason", "because")
			}
			if got := c.post("/pauses", form); got.status != http.StatusBadRequest {
				t.Errorf("%v: answered %d", form, got.status)
			}
		}
		if len(store.pauses) != 2 {
			t.Errorf("paused %+v", store.pauses[2:])
		}
	})
}
