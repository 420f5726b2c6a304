package relayconf

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// tree is a configuration of which every scalar is still the text that was written.
type tree map[string]any // of tree, []any or string

// readYAML reads one document, and holds its keys against those that there are.
func readYAML(from io.Reader) (tree, error) {
	decoder := yaml.NewDecoder(from)
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return tree{}, nil
	case err != nil:
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one document: something follows it")
	}
	value, err := readNode(document.Content[0], kindOf(reflect.TypeFor[Config]()), "")
	if err != nil {
		return nil, err
	}
	if value == nil {
		return tree{}, nil
	}
	return value.(tree), nil //nolint:errcheck,forcetypeassert // readNode has checked it
}

// readNode returns what stands at path, nil for nothing.
func readNode(n *yaml.Node, k kind, path string) (any, error) {
	at := func(format string, args ...any) error {
		return fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return nil, at("%s: aliases are not read: write it out", path)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil, nil
	case k.group() && n.Kind == yaml.MappingNode:
		return readMapping(n, k, path)
	case k.group():
		return nil, at("%s: want keys and values", orDocument(path))
	case n.Kind == yaml.ScalarNode:
		return n.Value, nil
	case n.Kind == yaml.SequenceNode && k.Kind() == reflect.Slice:
		return readSequence(n, path)
	}
	return nil, at("%s: want %s", path, k.wants())
}

func orDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// wants is the form of a value, for people.
func (k kind) wants() string {
	if k.Kind() == reflect.Slice {
		return "a list"
	}
	return "one value"
}

func readMapping(n *yaml.Node, k kind, path string) (any, error) {
	t := tree{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, line := n.Content[i].Value, n.Content[i].Line
		at := join(path, name)
		child, ok := k.child(name)
		if !ok {
			return nil, fmt.Errorf("line %d: %w", line, &UnknownKeyError{at, join(path, k.near(name))})
		}
		if _, twice := t[name]; twice {
			return nil, fmt.Errorf("line %d: %s stands here for the second time", line, at)
		}
		value, err := readNode(n.Content[i+1], child, at)
		if err != nil {
			return nil, err
		}
		if value == nil && child.group() {
			value = tree{}
		}
		if value != nil {
			t[name] = value
		}
	}
	return t, nil
}

func readSequence(n *yaml.Node, path string) (any, error) {
	list := make([]any, len(n.Content))
	for i, entry := range n.Content {
		if entry.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: %s: want a list of single values", entry.Line, path)
		}
		list[i] = entry.Value
	}
	return list, nil
}

// UnknownKeyError is a key that there is not.
type UnknownKeyError struct {
	Key  string
	Near string // the most alike one that there is
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("there is no key %s: is it %s?", e.Key, e.Near)
}
