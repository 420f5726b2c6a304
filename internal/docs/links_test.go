package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/postroom/postroom/internal/docs"
)

// readMarkdown returns every Markdown file of the repository, by its path relative to the root.
func readMarkdown(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != root):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".md"):
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		files[filepath.ToSlash(name)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// target returns the file that a link of a page leads to, relative to the root, and the anchor in it. Links that leave
// the repository have none.
func target(page, link string) (file, anchor string, inside bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	file, anchor, _ = strings.Cut(link, "#")
	if file == "" {
		return page, anchor, true
	}
	return path.Join(path.Dir(page), file), anchor, true
}

func TestLinks(t *testing.T) {
	t.Parallel()
	files := readMarkdown(t)

	t.Run("lead_to_files_and_headings_that_exist", func(t *testing.T) {
		t.Parallel()
		for page, text := range files {
			for _, link := range docs.Links(text) {
				checkLink(t, files, page, link)
			}
		}
	})
	t.Run("lead_to_every_page_from_the_README", func(t *testing.T) {
		t.Parallel()
		reached := map[string]bool{}
		var visit func(page string)
		visit = func(page string) {
			if reached[page] {
				return
			}
			reached[page] = true
			for _, link := range docs.Links(files[page]) {
				for _, next := range leadsTo(files, page, link) {
					visit(next)
				}
			}
		}
		visit("README.md")
		for page := range files {
			if !reached[page] {
				t.Errorf("%s: no link leads there from README.md: add it to docs/README.md", page)
			}
		}
	})
	t.Run("and_commands_name_targets_that_make_has", func(t *testing.T) {
		t.Parallel()
		makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		for page, text := range files {
			for _, target := range docs.MakeTargets(text) {
				if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
					t.Errorf("%s: the Makefile has no target %s", page, target)
				}
			}
		}
	})
}

// leadsTo returns the pages that a reader finds behind a link: a file, or in a folder its README, without one all of
// its pages.
func leadsTo(files map[string]string, page, link string) (pages []string) {
	file, _, inside := target(page, link)
	if !inside {
		return nil
	}
	if _, isPage := files[file]; isPage {
		return []string{file}
	}
	readme := path.Join(file, "README.md")
	if _, hasReadme := files[readme]; hasReadme {
		return []string{readme}
	}
	for other := range files {
		if path.Dir(other) == file {
			pages = append(pages, other)
		}
	}
	return pages
}

// checkLink reports a link of a page that leads nowhere within the repository.
func checkLink(t *testing.T, files map[string]string, page, link string) {
	t.Helper()
	file, anchor, inside := target(page, link)
	if !inside {
		return
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
		t.Errorf("%s: %s leads to no file", page, link)
		return
	}
	if text, isPage := files[file]; isPage && anchor != "" && !docs.Anchors(text)[anchor] {
		t.Errorf("%s: %s leads to no heading", page, link)
	}
}
