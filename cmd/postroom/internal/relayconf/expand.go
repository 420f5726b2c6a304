package relayconf

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

var reference = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// expander replaces ${NAME} and ${file:PATH}.
type expander struct{ getenv func(string) (string, bool) }

// expand replaces every reference in t.
func (e expander) expand(t tree, path string) error {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		at := join(path, name)
		switch value := t[name].(type) {
		case tree:
			if err := e.expand(value, at); err != nil {
				return err
			}
		case []any:
			for i, entry := range value {
				text, err := e.text(entry.(string), at) //nolint:errcheck,forcetypeassert // readSequence made it
				if err != nil {
					return err
				}
				value[i] = text
			}
		case string:
			text, err := e.text(value, at)
			if err != nil {
				return err
			}
			t[name] = text
		}
	}
	return nil
}

func (e expander) text(text, path string) (expanded string, err error) {
	expanded = reference.ReplaceAllStringFunc(text, func(found string) string {
		if plain, ok := strings.CutPrefix(found, "$$"); ok {
			return "$" + plain
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(found, "${"), "}")
		if !closed {
			err = fmt.Errorf("%s: a reference is not closed: write ${NAME}, or $${ for a plain ${", path)
			return ""
		}
		value, problem := e.lookUp(name)
		if problem != nil {
			err = fmt.Errorf("%s: %w", path, problem)
		}
		return value
	})
	return expanded, err
}

func (e expander) lookUp(name string) (string, error) {
	if file, ok := strings.CutPrefix(name, "file:"); ok {
		text, err := os.ReadFile(file)
		return strings.TrimRight(string(text), "\r\n"), err
	}
	value, ok := e.getenv(name)
	if !ok {
		return "", fmt.Errorf("the environment has no variable %q: set it, or write $${ for a plain ${", name)
	}
	return value, nil
}
