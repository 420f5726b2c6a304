package relayconf

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
)

// Read reads the configuration in file, or none if file is empty, with what environ adds to it, which has the form of
// os.Environ. What is not given has its default. Its errors name a key, and repeat no address and no password.
func Read(file string, environ []string) (Config, error) {
	c, err := read(file, environ)
	if err != nil && file != "" {
		return Config{}, fmt.Errorf("configuration %s: %w", file, err)
	}
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

func read(file string, environ []string) (Config, error) {
	t, err := readFile(file)
	if err != nil {
		return Config{}, err
	}
	if err := overlay(t, environ); err != nil {
		return Config{}, err
	}
	if err := (expander{lookUpIn(environ)}).expand(t, ""); err != nil {
		return Config{}, err
	}
	var c Config
	if err := decode(t, &c); err != nil {
		return Config{}, err
	}
	return c, c.complete()
}

func readFile(file string) (tree, error) {
	if file == "" {
		return tree{}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readYAML(f)
}

func lookUpIn(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, variable := range environ {
			if have, value, _ := strings.Cut(variable, "="); have == name {
				return value, true
			}
		}
		return "", false
	}
}

// decode gives the texts of from the types of into.
func decode(from, into any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: into, TagName: "yaml", SquashTagOption: "inline",
		WeaklyTypedInput: true, ErrorUnused: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(), mapstructure.TextUnmarshallerHookFunc()),
	})
	if err != nil {
		return err
	}
	return readable(d.Decode(from))
}

// readable makes the first of the decoder's errors one for people.
func readable(err error) error {
	wrong, ok := errors.AsType[*mapstructure.DecodeError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%s: %w", wrong.Name(), wrong.Unwrap())
}

// setDefaults fills in what is zero below v.
func setDefaults(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return setDefaults(v.Elem())
	case reflect.Map:
		for _, entry := range v.Seq2() {
			if err := setDefaults(entry); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if err := setDefault(v.FieldByIndex(f.Index), f.Tag.Get("default")); err != nil {
				return err
			}
		}
	}
	return nil
}

func setDefault(v reflect.Value, text string) error {
	if text == "" || !v.IsZero() {
		return setDefaults(v)
	}
	return decode(text, v.Addr().Interface())
}
