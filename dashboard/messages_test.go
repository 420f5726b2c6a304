package dashboard_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestMessages(t *testing.T) {
	t.Parallel()

	t.Run("page_on_without_a_gap_or_a_repeat_while_others_come_and_go", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		total := len(store.records)
		b := openTab(t, serveDemo(t, store, nil))
		b.open("/messages")
		seen := map[string]bool{}
		for {
			const ids = `[...document.querySelectorAll("tbody th a")].map(a => a.title)`
			for _, id := range get(b, chromedp.Evaluate[[]string](ids)) {
				if seen[id] {
					t.Errorf("%s was shown twice", id)
				}
				seen[id] = true
			}
			if !get(b, chromedp.Evaluate[bool](`!!document.querySelector("a[rel=next]")`)) {
				break
			}
			store.mu.Lock()
			store.records = store.records[1:] // delivered: it has been shown
			store.mu.Unlock()
			b.click("a[rel=next]")
		}
		if len(seen) != total {
			t.Errorf("%d messages were shown, want %d", len(seen), total)
		}
	})

	t.Run("are_filtered_by_a_form", func(t *testing.T) {
		t.Parallel()
		b := openTab(t, serveDemo(t, newDemo(), nil))
		b.open("/messages")
		b.fill("#f-key", "customer-1040")
		b.click("form.filter button[type=submit]")
		rows := get(b, chromedp.Evaluate[int](`document.querySelectorAll("tbody tr").length`))
		if rows != 2 {
			t.Errorf("%d rows, want the parked message and the one behind it", rows)
		}
	})

	t.Run("are_not_asked_for_with_what_is_no_filter", func(t *testing.T) {
		t.Parallel()
		site := serveDemo(t, newDemo(), nil)
		for _, query := range []string{"older=soon", "id=7", "after=x", "after=-1", "older=-5m"} {
			if got := look(t, site+"/messages?"+query); got.status != 400 {
				t.Errorf("%s: %d", query, got.status)
			}
		}
		for _, path := range []string{"/messages/7", "/messages/" + uuid.NewString()} {
			if got := look(t, site+path); got.status != 404 {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	})
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	store := newDemo()
	site := serveDemo(t, store, nil)
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"json_is_laid_out":           {[]byte(`{"a":[1,2]}`), "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		"text_is_shown_as_it_is":     {[]byte("line one\nline two"), "line one\nline two"},
		"bytes_are_dumped":           {[]byte{0, 1, 2, 0xff}, "00000000  00 01 02 ff"},
		"nil_is_a_tombstone":         {nil, "None: a tombstone."},
		"empty_is_not_a_tombstone":   {[]byte{}, "Empty."},
		"much_is_cut":                {[]byte(strings.Repeat("x", 70<<10)), "of which the beginning is shown"},
		"much_is_cut_within_a_rune":  {[]byte("x" + strings.Repeat("ü", 40<<10)), "xüüü"},
		"control_characters_are_not": {[]byte("a\x1b[31mb"), "61 1b 5b 33 31 6d 62"},
	} {
		n := len(store.records)
		store.add(0, "orders", "OrderPlaced", "k", outbox.StatusPending, func(r *outbox.Record) { r.Payload = c.payload })
		id := store.records[n].ID
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if text := openTab(t, site).open("/messages/" + id.String()); !strings.Contains(text, c.want) {
				t.Errorf("the page lacks %q:\n%.3000s", c.want, text)
			}
		})
	}
}
