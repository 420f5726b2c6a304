package docs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/docs"
)

const source = "testdata/shop_test.go"

func TestSnippet(t *testing.T) {
	t.Parallel()
	cases := []struct{ claim, name, want string }{
		{
			"shows_the_body_of_an_example_without_its_output", "Example_greeting",
			"s := &server{}\nif s != nil {\n\tfmt.Println(s.greet())\n}\n",
		},
		{
			"shows_the_whole_declaration_of_a_method", "server.greet",
			"// greet says hello.\nfunc (s *server) greet() string {\n\treturn \"hello\"\n}\n",
		},
	}
	for _, c := range cases {
		t.Run(c.claim, func(t *testing.T) {
			t.Parallel()
			got, err := docs.Snippet(source, c.name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("snippet (-want +got):\n%s", diff)
			}
		})
	}

	t.Run("refuses_a_function_that_is_not_there", func(t *testing.T) {
		t.Parallel()
		if got, err := docs.Snippet(source, "Example_gone"); err == nil {
			t.Errorf("Snippet returned %q, want an error", got)
		}
	})
}

func TestRegions(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- snippet: " + source + "#Example_greeting -->\n", "<!-- /snippet -->\n"

	t.Run("are_written_anew_by_Refresh_and_then_stay_the_same", func(t *testing.T) {
		t.Parallel()
		document := "before\n" + begin + "stale\n" + end + "after\n"
		fresh, err := docs.Refresh(document, ".")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fresh, "stale") || !strings.Contains(fresh, "```go\ns := &server{}\n") {
			t.Errorf("the region is not the example's body:\n%s", fresh)
		}
		again, err := docs.Refresh(fresh, ".")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, again); diff != "" {
			t.Errorf("a second Refresh changed the document:\n%s", diff)
		}
	})

	broken := map[string]string{
		"are_refused_without_an_end":   begin + "text\n",
		"are_refused_without_a_begin":  "text\n" + end,
		"are_refused_without_function": "<!-- snippet: file.go -->\ntext\n" + end,
	}
	for claim, document := range broken {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			if regions, err := docs.Regions(document); err == nil {
				t.Errorf("Regions returned %v, want an error", regions)
			}
		})
	}
}
