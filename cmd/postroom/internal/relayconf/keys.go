package relayconf

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Key is one key of the configuration. In Path, a star stands for a name that the file chooses.
type Key struct {
	Path    string
	Default string
}

// Keys returns every key that takes a value, in the order of the configuration.
func Keys() []Key { return keysOf(reflect.TypeFor[Config](), "") }

func keysOf(t reflect.Type, path string) (keys []Key) {
	for _, f := range fieldsOf(t) {
		at, of := join(path, nameOf(f)), f.Type
		if of.Kind() == reflect.Map {
			at, of = join(at, "*"), of.Elem()
		}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			keys = append(keys, keysOf(of, at)...)
		} else {
			keys = append(keys, Key{at, f.Tag.Get("default")})
		}
	}
	return keys
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// fieldsOf are the keys of a struct, those of structs in line with it among them.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// nameOf is the key of a field.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// kind is a type of the configuration, as far as a path has led into it.
type kind struct{ reflect.Type }

func kindOf(t reflect.Type) kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return kind{t}
}

// group reports whether names lead further.
func (k kind) group() bool { return k.Kind() == reflect.Struct || k.Kind() == reflect.Map }

// open reports whether the file chooses the names.
func (k kind) open() bool { return k.Kind() == reflect.Map }

// child is what stands under a name.
func (k kind) child(name string) (kind, bool) {
	switch k.Kind() {
	case reflect.Map:
		return kindOf(k.Elem()), true
	case reflect.Struct:
		for _, f := range fieldsOf(k.Type) {
			if nameOf(f) == name {
				return kindOf(f.Type), true
			}
		}
	}
	return kind{}, false
}

// near is the name in k that is most like one that is not.
func (k kind) near(name string) string {
	var names []string
	for _, f := range fieldsOf(k.Type) {
		names = append(names, nameOf(f))
	}
	return slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(a, name) - levenshtein.ComputeDistance(b, name)
	})
}
