package dashboard_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// Everything that others write is shown as they wrote it, and does nothing.
func TestStoredText(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]string{
		"with_a_script_is_inert":          `<script>document.title="pwned";alert(1)</script>`,
		"with_an_image_is_inert":          `"><img src=x onerror="document.title='pwned';alert(1)">`,
		"with_a_handler_is_inert":         `' onmouseover='alert(1)' autofocus onfocus='document.title="pwned"`,
		"with_an_address_is_inert":        `javascript:alert(1)//`,
		"with_a_template_is_inert":        `{{.}}</textarea></title><svg onload=alert(1)>`,
		"that_breaks_a_query_is_inert":    `&deed=discard#%22%3E<b>"`,
		"that_turns_the_line_is_isolated": "\u202egnp.exe\u202c",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newDemo()
			store.records = nil
			store.add(0, attack, attack, attack, outbox.StatusParked, func(r *outbox.Record) {
				r.Payload, r.LastError, r.Tenant, r.Transport = []byte(attack), attack, attack, attack
				r.ContentType, r.LastClass, r.Attempts = attack, outbox.Class(attack), 3
				r.Headers = []outbox.Header{{Name: attack, Value: attack}}
			})
			act := outbox.Act{By: attack, Reason: attack}
			scope := outbox.Scope{Key: attack}
			store.record(act, "pause", scope, uuid.Nil)
			store.record(act, "skip", outbox.Scope{Topic: attack}, store.records[0].ID)
			store.pauses = append(store.pauses, outbox.Pause{Scope: scope, Act: act, At: demoTime})
			store.backlog.Counts = []outbox.BacklogCount{{Topic: attack, Status: outbox.StatusParked, Messages: 1}}
			b := openTab(t, serveDemo(t, store, nil))
			for _, path := range []string{
				"/", "/messages", "/messages/" + store.records[0].ID.String(), "/failures", "/held", "/pauses", "/audit",
				"/act?deed=requeue&status=parked",
			} {
				text := b.open(path)
				if !strings.Contains(text, strings.TrimSpace(attack)) {
					t.Errorf("%s does not show it:\n%s", path, text)
				}
				wantInert(t, b, path)
			}
			b.open("/failures") // and what it leads to
			b.click(".groups a.button")
			if rows := get(b, chromedp.Evaluate[int](`document.querySelectorAll("tbody tr").length`)); rows != 1 {
				t.Errorf("the group leads to %d messages", rows)
			}
			wantInert(t, b, "the list of the group")
			b.wantCalm()
		})
	}
}

// wantInert looks for elements and handlers that are none of ours.
func wantInert(t *testing.T, b *tab, path string) {
	t.Helper()
	const foreign = `[...document.querySelectorAll("*")].filter(e =>
		e.matches("img, b, textarea, iframe, style, script:not([src])") ||
		[...e.attributes].some(a => a.name.startsWith("on") || a.name === "style" ||
			["href", "src", "action", "formaction"].includes(a.name) && a.value.trim().startsWith("javascript:"))
	).map(e => e.outerHTML)`
	for _, element := range get(b, chromedp.Evaluate[[]string](foreign)) {
		t.Errorf("%s: stored text became %s", path, element)
	}
	if title := get(b, chromedp.Evaluate[string]("document.title")); title == "pwned" {
		t.Errorf("%s: stored text ran", path)
	}
}
