package relayconf_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/telemetry/health"
)

const root = "../../../.."

// row is a key of the page, and its default.
var row = regexp.MustCompile("(?m)^\\| `([a-z_.*]+)` \\| (?:`([^`]*)`)? ?\\|")

func TestDocs(t *testing.T) {
	t.Parallel()
	t.Run("list_every_key_with_its_default", func(t *testing.T) {
		t.Parallel()
		page, err := os.ReadFile(root + "/docs/relay.md")
		if err != nil {
			t.Fatal(err)
		}
		var listed []relayconf.Key
		for _, m := range row.FindAllStringSubmatch(string(page), -1) {
			listed = append(listed, relayconf.Key{Path: m[1], Default: m[2]})
		}
		byPath := func(a, b relayconf.Key) int { return strings.Compare(a.Path, b.Path) }
		want := relayconf.Keys()
		slices.SortFunc(want, byPath)
		slices.SortFunc(listed, byPath)
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("docs/relay.md (-the keys that there are +the page):\n%s", diff)
		}
	})
	t.Run("begin_with_a_sample_that_is_read", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile(root + "/deploy/relay.yaml")
		if err != nil {
			t.Fatal(err)
		}
		secret := write(t, "secret", "s\n")
		sample := strings.ReplaceAll(string(text), "/run/secrets/database_password", secret)
		c := read(t, sample, "KAFKA_PASSWORD=k", "RABBITMQ_PASSWORD=r")
		if c.DefaultTransport != "events" || len(c.Transports) != 2 || c.Database.Password != "s" {
			t.Errorf("got %+v", c)
		}
	})
}

// settings are the fields of the packages' own configurations that have no key, and why.
var settings = []struct {
	of    any
	under string
	but   map[string]string
}{
	{outbox.RelayConfig{}, "relay", map[string]string{
		"MaxPublishDuration": "the stores of this process renew lanes", "Logger": "log", "Observer": "metrics",
	}},
	{outbox.Policy{}, "relay.policy", nil},
	{outbox.Policy{}, "relay.topics.*", nil},
	{kafka.Config{}, "transports.*.kafka", map[string]string{"ClientOptions": "code", "Logger": "log"}},
	{amqp.Config{}, "transports.*.amqp", map[string]string{"Logger": "log"}},
	{cloudevents.Config{}, "transports.*.kafka.cloudevents", map[string]string{"Subject": "code"}},
	{cloudevents.Config{}, "transports.*.amqp.cloudevents", map[string]string{"Subject": "code"}},
	{health.Config{}, "health", map[string]string{
		"Store": "the outbox", "Every": "probes may come often", "Timeout": "and bound themselves", "Logger": "log",
	}},
	{gormstore.Config{}, "database", map[string]string{
		"StrictKeys": "of writers", "MaxPayload": "of writers", "Headers": "of writers", "Registry": "of writers",
		"ReplayWindow": "of consumers", "InboxRetention": "of consumers", "Archive": "archive.retention", "Logger": "log",
	}},
}

func TestKeys(t *testing.T) {
	t.Parallel()
	t.Run("cover_every_setting_of_the_packages", func(t *testing.T) {
		t.Parallel()
		keys := relayconf.Keys()
		for _, s := range settings {
			for _, f := range reflect.VisibleFields(reflect.TypeOf(s.of)) {
				key := s.under + "." + snake(f.Name)
				has := slices.ContainsFunc(keys, func(k relayconf.Key) bool {
					return k.Path == key || strings.HasPrefix(k.Path, key+".")
				})
				if _, left := s.but[f.Name]; has == left {
					t.Errorf("%T.%s: key %s is there: %v; left out: %v", s.of, f.Name, key, has, left)
				}
			}
		}
	})
}

// snake is the key of a field.
func snake(field string) string {
	field = strings.NewReplacer("CloudEvents", "Cloudevents", "URLs", "Urls", "ID", "Id", "TLS", "Tls", "SASL", "Sasl").
		Replace(field)
	var key strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			key.WriteByte('_')
		}
		key.WriteRune(unicode.ToLower(r))
	}
	return key.String()
}
