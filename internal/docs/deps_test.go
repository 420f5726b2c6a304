package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/postroom/postroom"
	root   = "../.." // the repository, as seen from this package
)

// pkg is what `go list` says about a package, tests aside.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string // direct
	Deps       []string // direct and indirect
}

// within tells whether an import path is root or lies below it.
func within(importPath, root string) bool {
	return importPath == root || strings.HasPrefix(importPath, root+"/")
}

// ours tells whether the package belongs to one of the named parts of the module.
func ours(importPath string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return within(importPath, path.Join(module, part))
	})
}

// list returns the packages of the module and all they depend on, by import path.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	pkgs := map[string]pkg{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatalf("decode the output of go list: %v", err)
		}
		pkgs[p.ImportPath] = p
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	pkgs := list(t)

	t.Run("of_outbox_are_the_standard_library_and_uuid", func(t *testing.T) {
		t.Parallel()
		core, ok := pkgs[path.Join(module, "outbox")]
		if !ok {
			t.Fatal("go list does not know package outbox")
		}
		for _, dep := range core.Deps {
			if !pkgs[dep].Standard && dep != "github.com/google/uuid" {
				t.Errorf("outbox depends on %s", dep)
			}
		}
	})

	t.Run("never_lead_from_a_store_or_a_broker_to_another_one", func(t *testing.T) {
		t.Parallel()
		drivers := []string{"amqp", "kafka", "gormstore", "watermilladapter", "outbox/memstore"}
		for _, driver := range drivers {
			others := slices.DeleteFunc(slices.Clone(drivers), func(d string) bool { return d == driver })
			refuse(t, pkgs, driver, func(dep string) bool { return ours(dep, others...) })
		}
	})

	t.Run("of_brokers_hold_no_Watermill_and_no_GORM", func(t *testing.T) {
		t.Parallel()
		for _, broker := range []string{"amqp", "kafka"} {
			refuse(t, pkgs, broker, func(dep string) bool {
				return strings.HasPrefix(dep, "github.com/ThreeDotsLabs/") || strings.HasPrefix(dep, "gorm.io/")
			})
		}
	})

	t.Run("of_the_dashboard_are_outbox_and_what_outbox_has", func(t *testing.T) {
		t.Parallel()
		refuse(t, pkgs, "dashboard", func(dep string) bool {
			return !pkgs[dep].Standard && dep != "github.com/google/uuid" && !ours(dep, "dashboard", "outbox") ||
				ours(dep, "outbox/memstore", "outbox/outboxtest")
		})
	})

	t.Run("of_middleware_hold_no_database_and_no_broker", func(t *testing.T) {
		t.Parallel()
		refuse(t, pkgs, "middleware", func(dep string) bool {
			return strings.HasPrefix(dep, "gorm.io/") || ours(dep, "gormstore", "amqp", "kafka")
		})
	})
}

// refuse reports what the packages below a part of the module depend on and must not.
func refuse(t *testing.T, pkgs map[string]pkg, part string, forbidden func(dep string) bool) {
	t.Helper()
	found := false
	for importPath, p := range pkgs {
		if !ours(importPath, part) {
			continue
		}
		found = true
		for _, dep := range p.Deps {
			if forbidden(dep) {
				t.Errorf("%s depends on %s", importPath, dep)
			}
		}
	}
	if !found {
		t.Errorf("go list knows no package of %s", part)
	}
}
