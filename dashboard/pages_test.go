package dashboard_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/postroom/postroom/dashboard"
)

// shown is each page by what it has to show of the demo.
func shown(store *demo) map[string][]string {
	parked := store.records[1]
	return map[string][]string{
		"/": {
			"17 messages are parked", "64 messages are held", "Waiting\n873", "In flight\n220", "Oldest message that waits",
			"Delivered by this process", "payments", "notifications",
		},
		"/messages": {"customer-1040", "parked", "PaymentCaptured", "no queue is bound", "Next page"},
		"/messages?status=retrying&class=unavailable": {"connection refused", "in 9 s"},
		"/messages/" + parked.ID.String(): {
			parked.ID.String(), "customer-1040", "Enqueued", "10 attempts without success", "correlation_id", "req-771243",
			`"order_id": "o-48211"`, "application/json", "unroutable",
		},
		"/failures":             {"17", "no queue is bound", "4", "connection refused", "permanent", "Requeue…"},
		"/held":                 {"customer-1040", "customer-1088", "unroutable"},
		"/held?status=retrying": {"customer-2210"},
		"/relays": {
			"checkout-7c9f-2xkqp", "24: 0–23", "22: 24–39, 52–57", "expired", "ready", "8,204,518",
		},
		"/pauses": {"notifications", "mail provider is down", "customer-977", "Pause something"},
		"/audit":  {"on-call", "requeue", "broker upgrade", "everything"},
		"/act?deed=requeue&topic=payments": {
			"This would requeue 17 messages", "The first 10 of them", "a broker may already have a copy",
		},
		"/act?deed=discard&status=skipped":  {"This would discard 1 message.", "warehouse-2"},
		"/act?deed=skip&status=skipped":     {"None of them can be changed that way"},
		"/messages?status=parked&topic=nil": {"No message matches."},
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	store := newDemo()
	site := serveDemo(t, store, func(c *dashboard.Config) { c.Relays = []dashboard.Relay{newDemoRelay()} })
	for path, wants := range shown(store) {
		t.Run(nameOf(path), func(t *testing.T) {
			t.Parallel()
			b := openTab(t, site)
			text := b.open(path)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
			if t.Failed() {
				t.Logf("the page shows:\n%s", text)
			}
			b.prefer("light")
			b.wantAccessible("")
			b.prefer("dark")
			b.wantAccessible(`runOnly: ["color-contrast"]`) // the rest is the same
			b.wantFits(1280)
			b.wantFits(360)
			b.wantCalm()
		})
	}
}

// nameOf makes the name of a test of a path.
func nameOf(path string) string {
	path, query, _ := strings.Cut(strings.Trim(path, "/"), "?")
	if path, _, found := strings.Cut(path, "/"); found {
		return path + "_one"
	}
	name := "shows_" + path
	if path == "" {
		name = "shows_overview"
	}
	if query != "" {
		name += "_" + strings.NewReplacer("=", "_", "&", "_").Replace(query)
	}
	return name
}

func (b *tab) prefer(scheme string) {
	b.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"}, // or colours would be measured while they change
	}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.Fatal(err)
	}
}

// wantAccessible asks axe, which knows the rules of WCAG that a program can check, contrast among them.
func (b *tab) wantAccessible(options string) {
	b.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		b.Fatal(err)
	}
	ask := `axe.run({` + options + `}).then(r => JSON.stringify(r.violations.map(v => ({
		rule: v.id, help: v.help, where: v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary)}))))`
	get(b, chromedp.Evaluate[int](string(source)+";0"))
	answer := get(b, chromedp.Evaluate[string](ask, chromedp.EvalAwaitPromise))
	var violations []struct {
		Rule, Help string
		Where      []string
	}
	if err := json.Unmarshal([]byte(answer), &violations); err != nil {
		b.Fatal(err)
	}
	for _, v := range violations {
		b.Errorf("%s %s: %s\n\t%s", options, v.Rule, v.Help, strings.Join(v.Where, "\n\t"))
	}
}

// wantFits checks that nothing but the regions made for it has to be scrolled sideways.
func (b *tab) wantFits(width int64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 800))
	if got := get(b, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")); got > width {
		b.Errorf("on a screen of %d the page is %d wide", width, got)
	}
}
