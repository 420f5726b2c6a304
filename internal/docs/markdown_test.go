package docs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/internal/docs"
)

const page = "# A `page`, of sorts\n" +
	"See [there](there.md#a-b) and ![a picture](images/a.svg), not `[code](code.md)`.\n" +
	"<img src=\"images/b.svg\"> <!-- [nobody](hidden.md) -->\n" +
	"## A [linked](x.md) head_line\n" +
	"Run `make check`, then\n\n```sh\nmake test-all   # [not](a-link.md)\n# no heading\n```\n\nand make nothing.\n" +
	"## Twice\n## Twice\n"

func TestMarkdown(t *testing.T) {
	t.Parallel()
	t.Run("has_links_in_prose_and_none_in_code", func(t *testing.T) {
		t.Parallel()
		want := []string{"there.md#a-b", "images/a.svg", "images/b.svg", "x.md"}
		if diff := cmp.Diff(want, docs.Links(page)); diff != "" {
			t.Errorf("links (-want +got):\n%s", diff)
		}
	})
	t.Run("has_an_anchor_for_each_heading", func(t *testing.T) {
		t.Parallel()
		want := map[string]bool{"a-page-of-sorts": true, "a-linked-head_line": true, "twice": true, "twice-1": true}
		if diff := cmp.Diff(want, docs.Anchors(page)); diff != "" {
			t.Errorf("anchors (-want +got):\n%s", diff)
		}
	})
	t.Run("has_targets_of_make_in_code_and_none_in_prose", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff([]string{"test-all", "check"}, docs.MakeTargets(page)); diff != "" {
			t.Errorf("targets (-want +got):\n%s", diff)
		}
	})
}
