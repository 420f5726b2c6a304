package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

func TestScript(t *testing.T) {
	t.Parallel()

	t.Run("keeps_the_overview_up_to_date_until_it_is_stopped", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		d := newDashboard(t, store, nil)
		b := openTab(t, serve(t, d))
		b.open("/")
		more := store.backlog
		more.Counts = []outbox.BacklogCount{{Topic: "fresh", Status: outbox.StatusPending, Messages: 31_337}}
		store.mu.Lock()
		store.backlog = more
		store.mu.Unlock()
		const fresh = `document.body.innerText.includes("31,337")`
		b.do(chromedp.Poll[chromedp.Void](fresh, chromedp.WithPollingTimeout(deadline)))
		b.do(chromedp.Click(chromedp.CSS("[data-live-toggle]")))
		const pressed = `document.querySelector("[data-live-toggle]").ariaPressed`
		if got := get(b, chromedp.Evaluate[string](pressed)); got != "false" {
			t.Errorf("the button is pressed: %s", got)
		}
		b.wantCalm()
	})

	t.Run("says_when_there_is_no_answer_any_more", func(t *testing.T) {
		t.Parallel()
		var gone atomic.Bool
		site := serveDemo(t, newDemo(), func(c *dashboard.Config) {
			c.Authorize = func(*http.Request) (dashboard.Visitor, error) {
				if gone.Load() {
					return dashboard.Visitor{}, nil
				}
				return counter, nil
			}
		})
		b := openTab(t, site)
		b.open("/relays")
		gone.Store(true)
		const said = `document.querySelector("[data-live-toggle]").textContent === "No answer"`
		b.do(chromedp.Poll[chromedp.Void](said, chromedp.WithPollingTimeout(deadline)))
	})

	t.Run("is_not_needed", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		b := openTab(t, serveDemo(t, store, nil))
		off := emulation.SetScriptExecutionDisabledParams{Value: true}
		if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, off); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate(b.site + fmt.Sprintf("/messages/%s", store.records[1].ID)))
		b.click("a.button.primary")
		b.fill("#a-reason", "bound the queue")
		b.click("main form button[type=submit]")
		text := b.text("main")
		if !strings.Contains(text, "Requeued 1 message.") || !strings.Contains(text, "bound the queue") {
			t.Errorf("the page shows\n%s", text)
		}
	})
}
