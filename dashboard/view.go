package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"path"
	"strings"
)

//go:embed templates assets
var files embed.FS

// views are the pages by name, each in the frame that all share.
type views map[string]*template.Template

func parseViews() (views, error) {
	version, err := assetVersion()
	if err != nil {
		return nil, err
	}
	shared, err := template.New("").Funcs(funcs(version)).ParseFS(files, "templates/shared/*.html")
	if err != nil {
		return nil, err
	}
	pages, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	v := views{}
	for _, file := range pages {
		own, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if own, err = own.ParseFS(files, file); err != nil {
			return nil, err
		}
		v[strings.TrimSuffix(path.Base(file), ".html")] = own
	}
	return v, nil
}

// assetVersion is a name of what the assets are, so that no browser mixes those of two releases.
func assetVersion() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		hash.Write(content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:6]), err
}

// frame is what every page has around its content.
type frame struct {
	*visit
	Title   string
	Outbox  string
	Page    string
	Content any
	Notice  string
	secret  []byte
}

// Sections are the pages that the navigation leads to.
func (f frame) Sections() []section {
	list := []section{
		{"overview", "", "Overview", false},
		{"messages", "messages", "Messages", false},
		{"failures", "failures", "Failures", false},
		{"held", "held", "Held keys", false},
		{"relays", "relays", "Relays", false},
		{"pauses", "pauses", "Pauses", false},
		{"audit", "audit", "Audit", false},
	}
	for i := range list {
		list[i].Here = list[i].Name == f.Page || list[i].Name == "messages" && f.Page == "message"
	}
	return list
}

type section struct {
	Name, Path, Title string
	Here              bool
}

// Token is what the form of that name has to carry.
func (f frame) Token(form string) string { return token(f.secret, form, f.Name) }

// SeesKeys reports whether keys are shown.
func (f frame) SeesKeys() bool { return f.seesKeys() }

// Key is a key as this visitor may see it.
func (f frame) Key(key string) any {
	switch {
	case key == "":
		return template.HTML(`<span class="none">none</span>`)
	case !f.seesKeys():
		return template.HTML(`<span class="hidden" title="Your role does not see keys">hidden</span>`)
	}
	return key
}
