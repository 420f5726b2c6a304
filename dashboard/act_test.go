package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestActs(t *testing.T) {
	t.Parallel()

	t.Run("touch_what_was_counted_and_not_what_came_later", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		c := newClient(t, serveDemo(t, store, nil))
		form := with(c.form("/act?deed=requeue&status=parked&topic=payments"), "reason", "queue is bound")
		late := len(store.records)
		store.add(0, "payments", "PaymentCaptured", "late", outbox.StatusParked, nil)
		if got := c.post("/act", form); got.status != http.StatusOK || !strings.Contains(got.body, "Requeued 17 messages.") {
			t.Errorf("answered %d:\n%s", got.status, got.body)
		}
		if store.records[late].Status != outbox.StatusParked {
			t.Error("the one that was parked later was requeued, too")
		}
		done := store.audit[5:]
		if len(done) != 17 || done[0].By != "on-call" || done[0].Reason != "queue is bound" || done[0].Deed != "requeue" {
			t.Errorf("recorded %d, the first of them %+v", len(done), done[0])
		}
	})

	t.Run("say_how_many_were_changed_by_somebody_else", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		c := newClient(t, serveDemo(t, store, nil))
		form := with(c.form("/act?deed=requeue&status=parked"), "reason", "because")
		gone := store.records[1].ID
		if _, err := store.Discard(t.Context(), outbox.Act{By: "cli", Reason: "first"}, gone); err != nil {
			t.Fatal(err)
		}
		want := "Requeued 16 messages. 1 other was changed by somebody else meanwhile."
		if got := c.post("/act", form); !strings.Contains(got.body, want) {
			t.Errorf("answered %d:\n%s", got.status, got.body)
		}
	})

	t.Run("are_done_to_those_that_were_chosen_from_the_list", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		b := openTab(t, serveDemo(t, store, nil))
		b.open("/messages")
		const choose = `[...document.querySelectorAll(".check input")].slice(0, 3).forEach(e => e.click())`
		b.do(chromedp.Evaluate[chromedp.Void](choose))
		b.click("button[value=skip]")
		if text := b.text("main"); !strings.Contains(text, "This would skip 2 messages.") { // the first is skipped already
			t.Errorf("the preview shows\n%s", text)
		}
		b.fill("#a-reason", "not needed any more")
		b.click("main form button[type=submit]")
		if text := b.text("main"); !strings.Contains(text, "Skipped 2 messages.") || len(store.audit) != 7 {
			t.Errorf("recorded %+v, shown\n%s", store.audit[5:], text)
		}
		b.wantCalm()
	})

	t.Run("need_a_reason", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		c := newClient(t, serveDemo(t, store, nil))
		for _, reason := range []string{"", strings.Repeat("x", 256)} {
			form := with(c.form("/act?deed=discard&status=parked"), "reason", reason)
			if got := c.post("/act", form); got.status != http.StatusBadRequest || !strings.Contains(got.body, "Reason") {
				t.Errorf("answered %d:\n%s", got.status, got.body)
			}
		}
		if len(store.audit) != 5 {
			t.Errorf("something was done: %+v", store.audit[5:])
		}
	})

	t.Run("on_a_group_of_failures_leave_the_others_alone", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		n := len(store.records)
		const cause = "no queue is bound to 12"
		for _, text := range []string{cause, "no queue is bound to 345", "no queue is bound to anything"} {
			store.add(0, "refunds", "Refunded", "k", outbox.StatusParked, func(r *outbox.Record) {
				r.Attempts, r.LastClass, r.LastError = 1, outbox.ClassUnroutable, text
			})
		}
		query := url.Values{"deed": {"discard"}, "status": {"parked"}, "topic": {"refunds"}, "cause": {cause}}
		c := newClient(t, serveDemo(t, store, nil))
		form := c.form("/act?" + query.Encode())
		want := []string{store.records[n].ID.String(), store.records[n+1].ID.String()}
		if d := cmp.Diff(want, strings.Fields(form.Get("ids"))); d != "" {
			t.Errorf("ids (-want +got):\n%s", d)
		}
	})

	t.Run("on_more_than_a_form_can_name_take_the_first_or_all", func(t *testing.T) {
		t.Parallel()
		for _, all := range []string{"", "yes"} {
			store := newDemo()
			for range 1500 {
				store.add(0, "bulk", "Bulk", "", outbox.StatusParked, nil)
			}
			c := newClient(t, serveDemo(t, store, nil))
			page := c.get("/act?deed=requeue&topic=bulk").body
			if !strings.Contains(page, "at least 1,000 messages") {
				t.Errorf("the preview shows\n%.2000s", page)
			}
			form := with(with(c.form("/act?deed=requeue&topic=bulk"), "reason", "because"), "all", all)
			want := "Requeued 1,000 messages."
			if all != "" {
				want = "Requeued 1,500 messages."
			}
			if got := c.post("/act", form); !strings.Contains(got.body, want) {
				t.Errorf("answered %d, want %s", got.status, want)
			}
		}
	})

	t.Run("go_by_the_order_of_what_is_parked_and_skipped_together", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		for i := range 250 {
			status := outbox.StatusParked
			if i%3 == 0 {
				status = outbox.StatusSkipped
			}
			store.add(0, "mixed", "Mixed", "k", status, nil)
		}
		var want []string
		for _, r := range store.records[len(store.records)-250:] {
			want = append(want, r.ID.String())
		}
		c := newClient(t, serveDemo(t, store, nil))
		form := with(c.form("/act?deed=requeue&topic=mixed"), "reason", "because")
		if d := cmp.Diff(want, strings.Fields(form.Get("ids"))); d != "" {
			t.Errorf("ids (-want +got):\n%s", d)
		}
		c.post("/act", with(form, "all", "yes"))
		var got []string
		for _, a := range store.audit[5:] {
			got = append(got, a.Message.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("requeued (-want +got):\n%s", d)
		}
	})

	t.Run("that_break_off_say_how_much_was_done", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		for range 300 {
			store.add(0, "bulk", "Bulk", "", outbox.StatusParked, nil)
		}
		c := newClient(t, serve(t, newDashboard(t, &failing{demo: store, after: 2}, nil)))
		form := with(c.form("/act?deed=requeue&topic=bulk"), "reason", "because")
		if got := c.post("/act", form); got.status != http.StatusServiceUnavailable ||
			!strings.Contains(got.body, "Requeued 200 messages, then") {
			t.Errorf("answered %d:\n%s", got.status, got.body)
		}
	})

	t.Run("that_do_not_exist_are_refused", func(t *testing.T) {
		t.Parallel()
		c := newClient(t, serveDemo(t, newDemo(), nil))
		if got := c.get("/act?deed=pause"); got.status != http.StatusBadRequest {
			t.Errorf("answered %d", got.status)
		}
		token := c.form("/act?deed=discard&status=parked").Get("token")
		for _, form := range []url.Values{
			{"deed": {"drop"}}, {"deed": {"pause"}}, {"deed": {"discard"}, "ids": {"1; DROP TABLE"}},
		} {
			form.Set("token", token)
			form.Set("reason", "because")
			if got := c.post("/act", form); got.status != http.StatusBadRequest {
				t.Errorf("%v: answered %d", form, got.status)
			}
		}
	})
}

// failing is a store that breaks after some acts.
type failing struct {
	*demo
	after int
}

func (f *failing) Requeue(ctx context.Context, act outbox.Act, ids ...uuid.UUID) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errBroken
	}
	return f.demo.Requeue(ctx, act, ids...)
}
