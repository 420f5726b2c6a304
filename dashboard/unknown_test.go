package dashboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

func TestUnknown(t *testing.T) {
	t.Parallel()

	t.Run("is_shown_as_such_and_not_as_zero", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		store.broken = errBroken
		site := serveDemo(t, store, nil)
		b := openTab(t, site)
		text := b.open("/")
		for _, want := range []string{
			"The backlog is not known", "Waiting\nnot known", "Oldest message that waits\nnot known",
			"Messages that wait\nnot known", "That is not the same as none.",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the overview lacks %q", want)
			}
		}
		if strings.Contains(text, "All is well") || strings.Contains(text, errBroken.Error()) {
			t.Errorf("the overview shows\n%s", text)
		}
		for _, path := range []string{"/messages", "/failures", "/held", "/relays", "/pauses", "/audit"} {
			got := look(t, site+path)
			if got.status != 503 || !strings.Contains(got.body, "The store does not answer") ||
				strings.Contains(got.body, errBroken.Error()) {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	})

	t.Run("is_whether_a_relay_lives_when_the_store_does_not_answer", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		store.backlog = outbox.Backlog{}
		got := look(t, serve(t, newDashboard(t, mute{store}, nil))+"/")
		if !strings.Contains(got.body, "It is not known whether a relay lives") || strings.Contains(got.body, "All is well") {
			t.Errorf("the overview shows\n%s", got.body)
		}
	})

	t.Run("is_the_rate_without_relays_in_the_process", func(t *testing.T) {
		t.Parallel()
		b := openTab(t, serveDemo(t, newDemo(), nil))
		if text := b.open("/"); !strings.Contains(text, "Delivered by this process\nnot known") {
			t.Errorf("the overview shows\n%s", text)
		}
	})

	t.Run("is_how_many_there_are_beyond_what_was_counted", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		store.backlog.Capped = true
		b := openTab(t, serveDemo(t, store, nil))
		text := b.open("/")
		for _, want := range []string{"At least 17 messages are parked", "Waiting\nat least 873", "≥ 421", "lower bounds"} {
			if !strings.Contains(text, want) {
				t.Errorf("the overview lacks %q", want)
			}
		}
	})

	t.Run("is_how_many_wait_when_counting_takes_too_long", func(t *testing.T) {
		t.Parallel()
		store := &slow{demo: newDemo(), hurries: 2}
		site := serve(t, newDashboard(t, store, func(c *dashboard.Config) { c.Timeout = time.Second }))
		got := look(t, site+"/held")
		counted, not := strings.Count(got.body, "key=customer-"), strings.Count(got.body, "not counted")
		if got.status != 200 || counted != 1 || not != 15 {
			t.Errorf("status %d, %d keys have a count and %d are not counted", got.status, counted, not)
		}
	})

	t.Run("is_what_the_store_does_not_tell", func(t *testing.T) {
		t.Parallel()
		site := serve(t, newDashboard(t, inspectorOnly{newDemo()}, nil))
		if text := openTab(t, site).open("/"); !strings.Contains(text, "not known") {
			t.Errorf("the overview shows\n%s", text)
		}
		for path, want := range map[string]int{
			"/messages": 200, "/held": 200, "/relays": 200, "/failures": 501, "/pauses": 501, "/audit": 501,
		} {
			if got := look(t, site+path); got.status != want {
				t.Errorf("%s: %d, want %d", path, got.status, want)
			}
		}
	})
}

// inspectorOnly is a store without what is optional.
type inspectorOnly struct{ outbox.Inspector }

// mute is a store that does not answer who relays.
type mute struct{ *demo }

func (mute) Sessions(context.Context) ([]outbox.Session, error) { return nil, errBroken }

// slow is a store that has no answer about a key in time, after the first ones.
type slow struct {
	*demo
	hurries int
}

func (s *slow) Find(ctx context.Context, f outbox.Filter, after int64, limit int) ([]outbox.Record, error) {
	if f.Key != "" {
		if s.hurries--; s.hurries < 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return s.demo.Find(ctx, f, after, limit)
}
