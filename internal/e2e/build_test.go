package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
)

// shopBuilder returns what builds the example shop once into folder, with the race detector if the tests have it.
func shopBuilder(ctx context.Context, folder string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		file := filepath.Join(folder, "orders-api")
		args := []string{"build", "-o", file}
		if raceDetector {
			args = append(args, "-race")
		}
		out, err := exec.CommandContext(ctx, "go", append(args, "../../examples/orders-api")...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build the example shop: %w\n%s", err, out)
		}
		return file, nil
	})
}
