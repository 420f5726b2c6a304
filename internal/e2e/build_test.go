package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
)

// shopBuilder returns what builds the example shop once into folder, with the race detector if the tests have it.
func shopBuilder(folder string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		file := filepath.Join(folder, "orders-api")
		args := []string{"build", "-o", file}
		if raceDetector {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "../../examples/orders-api")...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build the example shop: %w\n%s", err, out)
		}
		return file, nil
	})
}
