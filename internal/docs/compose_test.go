package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/postroom/postroom/internal/testservices"
)

// TestCompose: compose.yaml starts servers for the tests, where its first lines say that they are.
func TestCompose(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image string   `yaml:"image"`
			Ports []string `yaml:"ports"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	t.Run("pins_every_image", func(t *testing.T) {
		t.Parallel()
		pinned := regexp.MustCompile(`^[a-z0-9./-]+:\d+\.\d+[\w.-]*$`)
		for name, s := range file.Services {
			if !pinned.MatchString(s.Image) {
				t.Errorf("%s has the image %q, which may be another one tomorrow", name, s.Image)
			}
		}
	})
	t.Run("exports_each_variable_of_the_tests_with_a_port_that_is_published", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{
			testservices.PostgresEnv, testservices.PgBouncerEnv, testservices.MariaDBEnv, testservices.AMQPEnv,
			testservices.KafkaEnv,
		} {
			m := regexp.MustCompile(`(?m)^#   export ` + name + `='[^']*127\.0\.0\.1:(\d+)`).FindStringSubmatch(string(raw))
			if m == nil {
				t.Errorf("%s is not exported", name)
				continue
			}
			published := false
			for _, s := range file.Services {
				for _, port := range s.Ports {
					published = published || strings.HasPrefix(port, "127.0.0.1:"+m[1]+":")
				}
			}
			if !published {
				t.Errorf("%s names port %s, which no server publishes", name, m[1])
			}
		}
	})
}
