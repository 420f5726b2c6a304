//go:build unix

package fleet

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles a command of package pkg, seen from the module in dir, into folder and returns its path.
func Build(ctx context.Context, folder, dir, pkg string) (string, error) {
	path := filepath.Join(folder, filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// ModuleDir returns where a module lies that this one depends on.
func ModuleDir(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
