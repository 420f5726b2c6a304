package telemetry_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.yaml.in/yaml/v3"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry"
)

// exported returns all that there is to export, as Prometheus sees it.
func exported(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{
		System: "kafka", MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend()
	r, stop := run(t, b, outbox.RelayConfig{Poll: 10 * time.Millisecond, ID: "relay-label"})
	defer stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); r.Snapshot().Lanes == 0 && time.Now().Before(end); {
		<-tick.C
	}
	defer tel.Watch(overseen{backend: b}, r)()
	o := tel.Observer()
	o.LeaseLost(outbox.LeaseEvent{Lanes: 1})
	o.Cycle(outbox.CycleEvent{Err: errFault})
	o.Cycle(outbox.CycleEvent{Waited: 1, Tries: 1, Outcomes: []outbox.Outcome{delivered("orders")}})
	o.Cycle(outbox.CycleEvent{Tries: 1, Err: outbox.ErrClaimLost, Outcomes: []outbox.Outcome{delivered("orders")}})
	m := message("orders", "secret-key")
	m.Tenant = "secret-tenant"
	tel.Publisher(b).Publish(t.Context(), []*outbox.Message{m})

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		if f.GetName() != "target_info" {
			all[f.GetName()] = f
		}
	}
	return all
}

// series are the names by which queries refer to what is exported.
func series(families map[string]*dto.MetricFamily) map[string]bool {
	names := make(map[string]bool)
	for name, f := range families {
		if f.GetType() != dto.MetricType_HISTOGRAM {
			names[name] = true
			continue
		}
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			names[name+suffix] = true
		}
	}
	return names
}

// checkQuery wants a query that can be read, and asks for what is exported alone.
func checkQuery(t *testing.T, where, query string, known map[string]bool) {
	t.Helper()
	e, err := metricsql.Parse(strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(query))
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, query)
		return
	}
	metricsql.VisitAll(e, func(e metricsql.Expr) {
		m, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range m.LabelFilterss {
			for _, f := range filters {
				if f.Label == "__name__" && !known[f.Value] && f.Value != "up" {
					t.Errorf("%s asks for %s, which is not exported: there are %v", where, f.Value, slices.Sorted(maps.Keys(known)))
				}
			}
		}
	})
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	families := exported(t)
	known := series(families)
	page := string(read(t, "docs", "operations", "metrics.md"))

	t.Run("alerts_ask_for_what_is_exported_and_say_what_to_do", func(t *testing.T) {
		t.Parallel()
		var file ruleFile
		if err := yaml.Unmarshal(read(t, "deploy", "prometheus", "alerts.yaml"), &file); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				n++
				checkQuery(t, r.Alert, r.Expr, known)
				if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
					t.Errorf("%s has no summary, description or severity", r.Alert)
				}
				if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
					t.Errorf("%s: %v", r.Alert, err)
				}
				if !strings.Contains(page, "`"+r.Alert+"`") {
					t.Errorf("metrics.md does not name the alert %s", r.Alert)
				}
			}
		}
		if n < 10 {
			t.Errorf("got %d alerts", n)
		}
	})
	t.Run("dashboard_asks_for_what_is_exported_of_a_source_that_is_chosen", func(t *testing.T) {
		t.Parallel()
		var board struct {
			UID        string
			Templating struct {
				List []struct{ Name, Type, Query string }
			}
			Panels []struct {
				Title, Type string
				Datasource  struct{ UID string }
				Targets     []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(read(t, "deploy", "grafana", "dashboard.json"), &board); err != nil {
			t.Fatal(err)
		}
		if board.UID == "" || len(board.Templating.List) == 0 || board.Templating.List[0].Type != "datasource" {
			t.Errorf("got uid %q and variables %v, want a source to choose first", board.UID, board.Templating.List)
		}
		asked := regexp.MustCompile(`label_values\((\w+),`)
		for _, v := range board.Templating.List {
			if m := asked.FindStringSubmatch(v.Query); m != nil && !known[m[1]] {
				t.Errorf("variable %s asks for %s, which is not exported", v.Name, m[1])
			}
		}
		for _, p := range board.Panels {
			if p.Type == "row" {
				continue
			}
			if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("panel %q asks %q for %d things", p.Title, p.Datasource.UID, len(p.Targets))
			}
			for _, target := range p.Targets {
				checkQuery(t, p.Title, target.Expr, known)
			}
		}
	})
	t.Run("page_describes_each_metric_as_it_is_and_no_other", func(t *testing.T) {
		t.Parallel()
		row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")
		described := make(map[string]bool)
		for _, m := range row.FindAllStringSubmatch(page, -1) {
			name, kind, labels, meaning := m[1], m[2], m[3], m[4]
			described[name] = true
			f := families[name]
			if f == nil {
				t.Errorf("metrics.md describes %s, which is not exported", name)
				continue
			}
			if want := strings.ToLower(f.GetType().String()); kind != want {
				t.Errorf("%s is a %s, the page says %s", name, want, kind)
			}
			if !strings.HasPrefix(meaning, f.GetHelp()) {
				t.Errorf("%s: the page says %q, the metric %q", name, meaning, f.GetHelp())
			}
			for _, label := range labelsOf(f) {
				if label != "outbox_name" && !strings.Contains(labels, "`"+label+"`") {
					t.Errorf("%s has the label %s, which the page does not name", name, label)
				}
			}
		}
		for name := range families {
			if !described[name] {
				t.Errorf("metrics.md does not describe %s", name)
			}
		}
	})
	t.Run("labels_hold_no_ids_keys_tenants_or_relays", func(t *testing.T) {
		t.Parallel()
		allowed := []string{
			"outbox_name", "outbox_outcome", "outbox_verdict", "outbox_status", "outbox_relay_state", "outbox_cause",
			"outbox_policy", "error_type", "messaging_destination_name", "messaging_operation_name",
			"messaging_operation_type", "messaging_system",
		}
		for name, f := range families {
			for _, label := range labelsOf(f) {
				if !slices.Contains(allowed, label) {
					t.Errorf("%s has the label %s", name, label)
				}
			}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if v := l.GetValue(); strings.Contains(v, "secret") || v == "relay-label" {
						t.Errorf("%s tells %s=%s", name, l.GetName(), v)
					}
				}
			}
		}
	})
}

// labelsOf are the labels of a metric, but for those that the exporter gives to all.
func labelsOf(f *dto.MetricFamily) []string {
	names := make(map[string]bool)
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !strings.HasPrefix(l.GetName(), "otel_scope_") {
				names[l.GetName()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
