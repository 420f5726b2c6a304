//go:build soak

package debezium

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// page is docs/debezium.md, whose blocks of code the tests run.
type page struct {
	testing.TB
	text string
}

func readPage(t testing.TB) page {
	t.Helper()
	text, err := os.ReadFile("../../docs/debezium.md")
	must(t, err)
	return page{t, string(text)}
}

// block is the first block in a language after a heading.
func (p page) block(heading, language string) string {
	p.Helper()
	_, section, found := strings.Cut(p.text, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, code, opened := strings.Cut(section, "```"+language+"\n")
	code, _, closed := strings.Cut(code, "```")
	if !found || !opened || !closed {
		p.Fatalf("docs/debezium.md has no block of %s under %q", language, heading)
	}
	return code
}

// configuration is the page's one of the connector, with changes.
func (p page) configuration(changes map[string]string) map[string]string {
	p.Helper()
	config := make(map[string]string)
	must(p, json.Unmarshal([]byte(p.block("Setting it up", "json")), &config))
	for name, value := range changes {
		config[name] = value
	}
	return config
}
