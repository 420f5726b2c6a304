package relayconf_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/postroom/postroom/cmd/postroom/internal/database"
	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
)

// FuzzRead: a text is refused by an error that names the file, or is a configuration that can be printed, and that a
// text without secrets reads as again.
func FuzzRead(f *testing.F) {
	sample, err := os.ReadFile(root + "/deploy/relay.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(sample), "POSTROOM__RELAY__WORKERS=3")
	f.Add("relay: {workers: 8, batch_bytes: 2MiB, topics: {a.b: {on_exhausted: skip}}}", "")
	f.Add("transports: {k: {kafka: {brokers: [a, 'b,c'], tls: {enabled: true}}}}",
		"POSTROOM__TRANSPORTS__M__AMQP__URLS=amqp://h")
	f.Add("relay: &r {id: a}\nlog: *r", "POSTROOM__=1")
	f.Add("? [a]\n: b", "POSTROOM__TRANSPORTS____X=1")
	f.Add("relay: {lease: !!binary aGk=, id: '${X}', mode: ${file:/none}}", "X=1")
	f.Add("--- {}\n--- {}", "")
	f.Add("<<: {relay: {id: a}}", "POSTROOM__LOG__LEVEL")
	f.Fuzz(func(t *testing.T, text, variable string) {
		if strings.Contains(text, "${file:") || strings.Contains(variable, "${file:") {
			return // which reads whatever it names
		}
		file := write(t, "relay.yaml", text)
		c, err := relayconf.Read(file, []string{variable})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "configuration "+file+": ") {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		printed, err := yaml.Marshal(c)
		if err != nil {
			t.Fatalf("read, but not printed: %v", err)
		}
		if strings.Contains(string(printed), "redacted") || strings.Contains(string(printed), "${") {
			return
		}
		again, err := relayconf.Read(write(t, "again.yaml", string(printed)), nil)
		if err != nil {
			t.Fatalf("printed, but not read: %v\n%s", err, printed)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("printed as another one (-read +printed):\n%s", diff)
		}
	})
}

// FuzzSecrets: whatever surrounds a password, no error and no print shows it.
func FuzzSecrets(f *testing.F) {
	for _, around := range [][2]string{
		{"", ""}, {"%zz", ""}, {"a:", "@b:"}, {"?", "#"}, {"/", "\\"}, {"[", "]"}, {" ", "\t"}, {"'", `"`}, {"${A}", "$${"}, {"\n", "\x7f"},
	} {
		f.Add(around[0], around[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "hunter2correcthorse"
		password := before + secret + after
		for _, c := range []string{
			"database: {url: %q}", "database: {password: %q}", "database: {url: 'postgres://u@h/d', password: %q}",
			"database: {control: {url: %q}}", "transports: {m: {amqp: {urls: [%q]}}}",
			"transports: {m: {amqp: {management: %q}}}",
			"transports: {k: {kafka: {brokers: [a], sasl: {mechanism: plain, user: u, password: %q}}}}",
		} {
			for _, form := range []string{
				"%s", "postgres://u:%s@h/d", "u:%s@tcp(h)/d", "mariadb://u:%s@h/d", "amqp://u:%s@h/v",
			} {
				quoted, err := yaml.Marshal(fmt.Sprintf(form, password))
				if err != nil {
					return
				}
				text := strings.ReplaceAll(c, "%q", strings.TrimSuffix(flow(string(quoted)), "\n"))
				checkSecret(t, text, secret, form == "%s" && !strings.Contains(c, "password"))
			}
		}
	})
}

// flow keeps a scalar on one line.
func flow(yaml string) string {
	if strings.HasPrefix(yaml, "|") || strings.HasPrefix(yaml, ">") {
		return `""`
	}
	return yaml
}

func checkSecret(t *testing.T, text, secret string, bare bool) {
	t.Helper()
	c, err := relayconf.Read(write(t, "relay.yaml", text), []string{"A=a"})
	printed, _ := yaml.Marshal(c)
	if bare {
		printed = nil // an address without a password may be shown
	}
	db, control, openErr := c.Database.Open()
	if openErr == nil {
		openErr = errors.Join(database.Close(db), database.Close(control))
	}
	brokers, brokerErr := c.OpenTransports(slog.New(slog.DiscardHandler))
	if brokerErr == nil {
		brokerErr = relayconf.CloseAll(brokers)
	}
	if shown := fmt.Sprint(err, openErr, brokerErr) + string(printed); strings.Contains(shown, secret) {
		t.Fatalf("%s shows the secret: %s", text, shown)
	}
}
