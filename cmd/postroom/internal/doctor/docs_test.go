package doctor_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/cmd/postroom/internal/doctor"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?m)^## `).Split(string(text), -1)[1:]
	t.Run("list_every_check_in_order", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, section := range sections {
			name, _, _ := strings.Cut(section, "\n")
			names = append(names, name)
		}
		if diff := cmp.Diff(doctor.Checks(), names); diff != "" {
			t.Errorf("sections of docs/doctor.md (-the checks +the page):\n%s", diff)
		}
	})
	t.Run("say_how_to_provoke_and_to_mend_each", func(t *testing.T) {
		t.Parallel()
		for _, section := range sections {
			if !strings.Contains(section, "\n- Try it: ") || !strings.Contains(section, "\n- Fix: ") {
				t.Errorf("a section lacks one of the two: %.60q", section)
			}
		}
	})
}
