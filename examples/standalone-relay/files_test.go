package standalonerelay_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// compose is as much of the Compose specification as compose.yaml uses.
type compose struct {
	Name     string             `yaml:"name"`
	Program  map[string]any     `yaml:"x-program"`
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
}

type service struct {
	Image     string            `yaml:"image"`
	Build     build             `yaml:"build"`
	Hostname  string            `yaml:"hostname"`
	Command   []string          `yaml:"command"`
	Env       map[string]string `yaml:"environment"`
	Ports     []string          `yaml:"ports"`
	Expose    []string          `yaml:"expose"`
	Volumes   []string          `yaml:"volumes"`
	DependsOn dependencies      `yaml:"depends_on"`
	Health    *healthcheck      `yaml:"healthcheck"`
	Restart   string            `yaml:"restart"`
	StopGrace time.Duration     `yaml:"stop_grace_period"`
}

type build struct {
	Context    string            `yaml:"context"`
	Dockerfile string            `yaml:"dockerfile"`
	Args       map[string]string `yaml:"args"`
}

type healthcheck struct {
	Test     []string      `yaml:"test"`
	Interval time.Duration `yaml:"interval"`
	Timeout  time.Duration `yaml:"timeout"`
	Retries  int           `yaml:"retries"`
}

// dependencies are the conditions of services, which a list of names leaves to the default.
type dependencies map[string]string

func (d *dependencies) UnmarshalYAML(node *yaml.Node) error {
	*d = dependencies{}
	if node.Kind == yaml.SequenceNode {
		for _, name := range node.Content {
			(*d)[name.Value] = "service_started"
		}
		return nil
	}
	var long map[string]struct {
		Condition string `yaml:"condition"`
	}
	err := node.Decode(&long)
	for name, dependency := range long {
		(*d)[name] = dependency.Condition
	}
	return err
}

// prometheus is as much of its configuration as prometheus.yaml uses.
type prometheus struct {
	Global struct {
		ScrapeInterval time.Duration `yaml:"scrape_interval"`
	} `yaml:"global"`
	RuleFiles     []string `yaml:"rule_files"`
	ScrapeConfigs []struct {
		Job string `yaml:"job_name"`
		DNS []struct {
			Names   []string      `yaml:"names"`
			Type    string        `yaml:"type"`
			Port    int           `yaml:"port"`
			Refresh time.Duration `yaml:"refresh_interval"`
		} `yaml:"dns_sd_configs"`
	} `yaml:"scrape_configs"`
}

// read decodes a file and refuses keys that it does not know.
func read[T any](t *testing.T, file string) (v T) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func TestCompose(t *testing.T) {
	t.Parallel()
	c := read[compose](t, "compose.yaml")

	t.Run("pins_every_image", func(t *testing.T) {
		t.Parallel()
		dockerfile, err := os.ReadFile("Dockerfile")
		if err != nil {
			t.Fatal(err)
		}
		pinned := regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+[\w.-]*$`)
		for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("the Dockerfile begins from %s, which may be another one tomorrow", m[1])
			}
		}
		for name, s := range c.Services {
			if (s.Image == "") == (s.Build.Dockerfile == "") || s.Image != "" && !pinned.MatchString(s.Image) {
				t.Errorf("%s has image %q and Dockerfile %q, want one of them, pinned", name, s.Image, s.Build.Dockerfile)
			}
		}
	})
	t.Run("builds_programs_that_there_are_and_runs_them", func(t *testing.T) {
		t.Parallel()
		for name, s := range c.Services {
			if s.Build.Dockerfile == "" {
				continue
			}
			program := filepath.Join(s.Build.Context, s.Build.Args["PACKAGE"])
			exists(t, name, program)
			exists(t, name, filepath.Join(s.Build.Context, s.Build.Dockerfile))
			if len(s.Command) == 0 || s.Command[0] != filepath.Base(program) {
				t.Errorf("%s builds %s and runs %v", name, program, s.Command)
			}
		}
	})
	t.Run("mounts_what_there_is", func(t *testing.T) {
		t.Parallel()
		for name, s := range c.Services {
			for _, mount := range s.Volumes {
				source, _, _ := strings.Cut(mount, ":")
				if _, named := c.Volumes[source]; !named {
					exists(t, name, source)
				}
			}
		}
	})
	t.Run("waits_for_services_that_tell_of_their_health", func(t *testing.T) {
		t.Parallel()
		for name, s := range c.Services {
			for other, condition := range s.DependsOn {
				awaited, there := c.Services[other]
				if !there || condition == "service_healthy" && awaited.Health == nil {
					t.Errorf("%s waits for %s to be %s", name, other, condition)
				}
			}
		}
	})
	t.Run("shows_its_ports_to_this_machine_alone", func(t *testing.T) {
		t.Parallel()
		for name, s := range c.Services {
			for _, port := range s.Ports {
				if !strings.HasPrefix(port, "127.0.0.1:") {
					t.Errorf("%s listens for everybody at %s", name, port)
				}
			}
		}
	})
}

func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("leads_to_ports_that_are_shown", func(t *testing.T) {
		t.Parallel()
		shown := map[string]bool{}
		for _, s := range read[compose](t, "compose.yaml").Services {
			for _, port := range s.Ports {
				shown[strings.Split(port, ":")[1]] = true
			}
		}
		for _, link := range regexp.MustCompile(`http://localhost:(\d+)`).FindAllStringSubmatch(string(readme), -1) {
			if !shown[link[1]] {
				t.Errorf("nothing shows a port for %s", link[0])
			}
		}
	})
}

// relayFile is as much of relay.yaml as other files have to fit to.
type relayFile struct {
	Relay struct {
		StopTimeout time.Duration  `yaml:"stop_timeout"`
		Rest        map[string]any `yaml:",inline"`
	} `yaml:"relay"`
	HTTP struct {
		Address string `yaml:"address"`
	} `yaml:"http"`
	Rest map[string]any `yaml:",inline"`
}

func TestRelayFile(t *testing.T) {
	t.Parallel()
	relay, service := read[relayFile](t, "relay.yaml"), read[compose](t, "compose.yaml").Services["relay"]

	t.Run("leaves_the_relay_time_to_stop", func(t *testing.T) {
		t.Parallel()
		if service.StopGrace <= relay.Relay.StopTimeout+5*time.Second {
			t.Errorf("the relay is killed after %v and takes up to %v to stop", service.StopGrace, relay.Relay.StopTimeout)
		}
	})
	t.Run("serves_where_probes_and_Prometheus_look", func(t *testing.T) {
		t.Parallel()
		port := strings.TrimPrefix(relay.HTTP.Address, ":")
		if len(service.Expose) != 1 || service.Expose[0] != port {
			t.Errorf("the relay serves at %s and exposes %v", port, service.Expose)
		}
		if probe := strings.Join(service.Health.Test, " "); !strings.Contains(probe, ":"+port+"/readyz") {
			t.Errorf("the relay serves at %s and is probed by %s", port, probe)
		}
		jobs := read[prometheus](t, "prometheus.yaml").ScrapeConfigs
		if len(jobs) == 0 {
			t.Error("Prometheus looks at nothing")
		}
		for _, job := range jobs {
			if len(job.DNS) != 1 || fmt.Sprint(job.DNS[0].Port) != port || job.DNS[0].Names[0] != "relay" {
				t.Errorf("the relay serves at %s, job %s looks at %+v", port, job.Job, job.DNS)
			}
		}
	})
}

func TestMonitoring(t *testing.T) {
	t.Parallel()
	services := read[compose](t, "compose.yaml").Services

	t.Run("finds_the_alerts_where_Prometheus_reads_rules", func(t *testing.T) {
		t.Parallel()
		patterns := read[prometheus](t, "prometheus.yaml").RuleFiles
		if len(patterns) == 0 {
			t.Error("Prometheus reads no rules")
		}
		for _, pattern := range patterns {
			mounted(t, services["prometheus"], pattern)
		}
	})
	t.Run("finds_the_dashboard_where_Grafana_reads_dashboards", func(t *testing.T) {
		t.Parallel()
		provisioned := read[struct {
			Version   int `yaml:"apiVersion"`
			Providers []struct {
				Name, Type string
				Options    struct{ Path string }
			}
		}](t, "grafana/dashboards.yaml")
		if len(provisioned.Providers) == 0 {
			t.Error("Grafana reads no dashboards")
		}
		for _, provider := range provisioned.Providers {
			mounted(t, services["grafana"], provider.Options.Path+"/*.json")
		}
	})
	t.Run("asks_the_Prometheus_that_there_is", func(t *testing.T) {
		t.Parallel()
		sources := read[struct {
			Version int              `yaml:"apiVersion"`
			Sources []map[string]any `yaml:"datasources"`
		}](t, "grafana/datasources.yaml")
		if len(sources.Sources) != 1 || sources.Sources[0]["url"] != "http://prometheus:9090" {
			t.Errorf("Grafana asks %v", sources.Sources)
		}
	})
}

// mounted reports a pattern of files within a container that matches none of what is mounted there.
func mounted(t *testing.T, s service, pattern string) {
	t.Helper()
	for _, mount := range s.Volumes {
		source, rest, _ := strings.Cut(mount, ":")
		inside, _, _ := strings.Cut(rest, ":")
		if name, below := strings.CutPrefix(pattern, inside+"/"); below {
			if files, err := filepath.Glob(filepath.Join(source, name)); err != nil || len(files) == 0 {
				t.Errorf("%s matches no file of %s, %v", pattern, source, err)
			}
			return
		}
	}
	t.Errorf("nothing is mounted at %s", pattern)
}

func exists(t *testing.T, who, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}
