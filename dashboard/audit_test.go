package dashboard_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	t.Run("says_of_no_act_but_a_pause_that_it_was_on_everything", func(t *testing.T) {
		t.Parallel()
		store := newDemo()
		store.audit = nil
		release := outbox.Act{By: "on-call", Reason: "its host is gone (relay shop-1)"}
		store.record(release, "release", outbox.Scope{}, uuid.Nil)
		c := newClient(t, serveDemo(t, store, nil))
		if page := c.get("/audit").body; !strings.Contains(page, "relay shop-1") || strings.Contains(page, "everything") {
			t.Errorf("the page is\n%s", page)
		}
		store.record(outbox.Act{By: "on-call", Reason: "an upgrade"}, "pause", outbox.Scope{}, uuid.Nil)
		if page := c.get("/audit").body; !strings.Contains(page, "everything") {
			t.Errorf("the page is\n%s", page)
		}
	})
}
