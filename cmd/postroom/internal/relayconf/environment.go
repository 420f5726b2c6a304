package relayconf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// prefix begins the variables that are keys. The second underscore tells them from those that Kubernetes makes for a
// service of this name.
const prefix = "POSTROOM__"

// overlay puts the variables of the environment into t that begin with prefix.
func overlay(t tree, environ []string) error {
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(variable, "=")
		path, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		if err := t.set(name, strings.Split(strings.ToLower(path), "__"), value); err != nil {
			return fmt.Errorf("environment: %w", err)
		}
	}
	return nil
}

// set puts value at the end of path, which the variable of that name leads to.
func (t tree) set(variable string, path []string, value string) error {
	k, at := kindOf(reflect.TypeFor[Config]()), ""
	for i, name := range path {
		if k.open() {
			name = t.sameFold(name)
		}
		child, ok := k.child(name)
		if !ok || name == "" {
			return &UnknownKeyError{variable, variableOf(join(at, k.near(name)))}
		}
		k, at = child, join(at, name)
		if last := i == len(path)-1; last != !k.group() {
			return fmt.Errorf("%s is no key that takes a value: see docs/relay.md for those of %s", variable, at)
		} else if last {
			t[name] = value
			return nil
		}
		next, ok := t[name].(tree)
		if !ok {
			next = tree{}
			t[name] = next
		}
		t = next
	}
	return nil
}

// sameFold is the name in t that differs from name in its case alone, or name.
func (t tree) sameFold(name string) string {
	for have := range t {
		if strings.EqualFold(have, name) {
			return have
		}
	}
	return name
}

// Variable is the variable of a key with a value, in the form of os.Environ.
func Variable(key string, values ...string) string {
	return variableOf(key) + "=" + strings.Join(values, ",")
}

// variableOf is the variable of a key.
func variableOf(path string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}
