package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHandbook: whoever is woken by an alert finds it in the handbook.
func TestHandbook(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	handbook := readMarkdown(t)["docs/operations/README.md"]
	t.Run("names_every_alert_and_no_other", func(t *testing.T) {
		t.Parallel()
		rules := make(map[string]bool)
		for _, m := range regexp.MustCompile(`(?m)^\s*- alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1) {
			rules[m[1]] = true
			if !strings.Contains(handbook, "`"+m[1]+"`") {
				t.Errorf("docs/operations/README.md does not say what to do at %s", m[1])
			}
		}
		for _, m := range regexp.MustCompile("`(Outbox[A-Z]\\w+)`").FindAllStringSubmatch(handbook, -1) {
			if !rules[m[1]] {
				t.Errorf("docs/operations/README.md names %s, which is no alert", m[1])
			}
		}
	})
}
