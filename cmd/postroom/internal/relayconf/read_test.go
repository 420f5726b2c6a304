package relayconf_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
)

// write makes a file that ends with the test.
func write(tb testing.TB, name, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func read(tb testing.TB, text string, environ ...string) relayconf.Config {
	tb.Helper()
	c, err := relayconf.Read(write(tb, "relay.yaml", text), environ)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestRead(t *testing.T) {
	t.Parallel()
	t.Run("gives_each_text_the_type_of_its_key", func(t *testing.T) {
		t.Parallel()
		c := read(t, `
relay: {workers: 8, batch_bytes: 2MiB, lease: 30s, mode: pipelined, topics: {orders.placed: {on_exhausted: skip}}}
transports:
  events: {topics: [a, b], kafka: {brokers: "k1:9092, k2:9092", tls: {enabled: true, server_name: k}}}
`)
		if c.Relay.Workers != 8 || c.Relay.BatchBytes != 2<<20 || c.Relay.Lease != 30*time.Second {
			t.Errorf("relay is %+v", c.Relay)
		}
		if got := c.Relay.Topics["orders.placed"]; got != (relayconf.TopicPolicy{OnExhausted: "skip"}) {
			t.Errorf("the topic's policy is %+v", got)
		}
		events := c.Transports["events"]
		if diff := cmp.Diff(relayconf.List[string]{"k1:9092", "k2:9092"}, events.Kafka.Brokers); diff != "" {
			t.Errorf("brokers (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(relayconf.List[string]{"a", "b"}, events.Topics); diff != "" {
			t.Errorf("topics (-want +got):\n%s", diff)
		}
		if !events.Kafka.TLS.Enabled || events.Kafka.TLS.ServerName != "k" {
			t.Errorf("TLS is %+v", events.Kafka.TLS)
		}
	})
	t.Run("fills_in_defaults", func(t *testing.T) {
		t.Parallel()
		c := read(t, "transports: {mail: {amqp: {urls: ['amqp://h']}}}")
		if c.Relay.Batch != 500 || c.Relay.Renew != 5*time.Second || c.Database.MaxConnections != 8 ||
			c.Relay.Policy.OnExhausted != "park" || c.Transports["mail"].AMQP.Window != 500 {
			t.Errorf("got %+v", c)
		}
		if c.DefaultTransport != "mail" {
			t.Errorf("the default transport is %q, want the only one", c.DefaultTransport)
		}
	})
	t.Run("lets_the_environment_add_and_overrule", func(t *testing.T) {
		t.Parallel()
		c := read(t, "relay: {workers: 2}\ntransports: {Events: {kafka: {brokers: [a]}}}",
			"POSTROOM__RELAY__WORKERS=3", "POSTROOM__TRANSPORTS__EVENTS__KAFKA__BROKERS=b,c",
			"POSTROOM__TRANSPORTS__MAIL__AMQP__URLS=amqp://h, amqp://i", "POSTROOM_RELAY_PORT=tcp://10.0.0.1:80")
		if diff := cmp.Diff(relayconf.List[string]{"b", "c"}, c.Transports["Events"].Kafka.Brokers); diff != "" {
			t.Errorf("brokers (-want +got):\n%s", diff)
		}
		addresses := relayconf.List[relayconf.URL]{"amqp://h", "amqp://i"}
		if diff := cmp.Diff(addresses, c.Transports["mail"].AMQP.URLs); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		if c.Relay.Workers != 3 || len(c.Transports) != 2 {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("puts_in_what_references_name_and_leaves_digits_as_they_are", func(t *testing.T) {
		t.Parallel()
		secret := write(t, "secret", "from a file\n")
		c := read(t, "database: {url: 'postgres://u:${PASSWORD}@h/d', password: '${file:"+secret+"}', schema: '$${x}'}\n"+
			"transports: {k: {kafka: {brokers: [$BROKER, '${BROKER}'], sasl: {mechanism: plain, password: 0123}}}}",
			"PASSWORD=p", "BROKER=k:9092")
		want := relayconf.Database{
			URL: "postgres://u:p@h/d", Password: "from a file", Schema: "${x}", Name: "outbox", MaxConnections: 8,
			Control: relayconf.Control{MaxConnections: 2},
		}
		if diff := cmp.Diff(want, c.Database); diff != "" {
			t.Errorf("database (-want +got):\n%s", diff)
		}
		k := c.Transports["k"].Kafka
		if diff := cmp.Diff(relayconf.List[string]{"$BROKER", "k:9092"}, k.Brokers); diff != "" {
			t.Errorf("brokers (-want +got):\n%s", diff)
		}
		if k.SASL.Password != "0123" {
			t.Errorf("the password is not what was written")
		}
	})
	t.Run("needs_no_file", func(t *testing.T) {
		t.Parallel()
		c, err := relayconf.Read("", []string{"POSTROOM__TRANSPORTS__K__KAFKA__BROKERS=a:1"})
		if err != nil || len(c.Transports) != 1 {
			t.Errorf("got %+v, %v", c, err)
		}
	})
}

func TestRead_refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, environ, want string }{
		{"a_key_that_there_is_not", "relay:\n  leese: 5s", "", "line 2: there is no key relay.leese: is it relay.lease?"},
		{"a_section_that_there_is_not", "databse: {}", "", "there is no key databse: is it database?"},
		{"a_key_in_line_that_there_is_not", "transports: {k: {kafka: {tls: {ca: x}}}}", "", "is it transports.k.kafka.tls.ca_file?"},
		{"a_variable_that_there_is_not", "", "POSTROOM__RELAY__WORKER=1", "is it POSTROOM__RELAY__WORKERS?"},
		{"a_variable_of_a_section", "", "POSTROOM__RELAY=1", "POSTROOM__RELAY is no key that takes a value"},
		{"a_variable_below_a_value", "", "POSTROOM__RELAY__ID__X=1", "is no key that takes a value"},
		{"a_key_twice", "relay: {id: a, id: b}", "", "relay.id stands here for the second time"},
		{"a_value_for_a_section", "relay: 5", "", "relay: want keys and values"},
		{"a_section_for_a_value", "relay: {workers: {a: 1}}", "", "relay.workers: want one value"},
		{"a_list_of_lists", "transports: {k: {kafka: {brokers: [[a]]}}}", "", "want a list of single values"},
		{"an_alias", "relay: &r {id: a}\nlog: *r", "", "aliases are not read"},
		{"two_documents", "relay: {}\n---\nrelay: {}", "", "want one document"},
		{"what_is_no_YAML", "relay: [", "", "yaml:"},
		{"what_is_no_number", "relay: {workers: many}", "", "relay.workers: cannot parse value as 'int'"},
		{"what_is_no_time", "relay: {lease: 5}", "", "relay.lease"},
		{"what_is_no_number_of_bytes", "relay: {batch_bytes: lots}", "", "is no number of bytes"},
		{"a_reference_to_nothing", "relay: {id: '${NOBODY}'}", "", `relay.id: the environment has no variable "NOBODY"`},
		{"a_reference_to_no_file", "relay: {id: '${file:/none}'}", "", "relay.id: open /none"},
		{"a_reference_that_is_not_closed", "relay: {id: '${A'}", "A=1", "is not closed"},
		{"a_word_that_is_no_choice", "relay: {mode: fast}", "", `relay.mode is "fast": choose one of ordered, pipelined`},
		{"two_brokers_in_one", "transports: {k: {kafka: {}, amqp: {}}}", "", "transports.k: want either kafka or amqp"},
		{"no_broker_in_one", "transports: {k: {topics: [a]}}", "", "transports.k: want either kafka or amqp"},
		{"a_transport_that_is_empty", "transports: {k: }", "", "transports.k: want either kafka or amqp"},
		{
			"a_bound_of_liveness_that_a_slow_broker_exceeds",
			"http: {address: ':1'}\ntransports: {m: {amqp: {urls: ['amqp://h'], confirm_timeout: 2m}}}", "",
			"health.stuck_after is 2m0s, and publishing to transports.m may take 2m5s",
		},
		{"a_default_that_is_none", "default_transport: m\ntransports: {k: {kafka: {}}}", "", `default_transport is "m"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := relayconf.Read(write(t, "relay.yaml", tt.text), []string{tt.environ})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
	t.Run("with_a_typed_error_for_a_key", func(t *testing.T) {
		t.Parallel()
		_, err := relayconf.Read(write(t, "relay.yaml", "relay: {bacth: 1}"), nil)
		unknown, ok := errors.AsType[*relayconf.UnknownKeyError](err)
		if !ok || *unknown != (relayconf.UnknownKeyError{Key: "relay.bacth", Near: "relay.batch"}) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without_repeating_a_secret", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"database: {url: {hunter2: x}}", "database: {password: [hunter2]}", "relay: {workers: hunter2}",
			"transports: {k: {kafka: {brokers: {hunter2: 1}}}}", "archive: {retention: hunter2}",
		} {
			_, err := relayconf.Read(write(t, "relay.yaml", text), nil)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: got %v", text, err)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	t.Run("is_printed_without_secrets", func(t *testing.T) {
		t.Parallel()
		c := read(t, `
database:
  {url: "postgres://u:hunter2@h/d?password=hunter2", control: {url: "host=h password=hunter2"}, password: hunter2}
transports:
  k: {kafka: {brokers: [a], sasl: {mechanism: plain, user: u, password: hunter2}}}
  m: {amqp: {urls: ["amqp://u:hunter2@h/"], password: hunter2, management: "http://u:hunter2@h"}}
`)
		text, err := yaml.Marshal(c)
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("printed %s, %v", text, err)
		}
		if want := "amqp://u:redacted@h/"; !strings.Contains(string(text), want) {
			t.Errorf("printed %s, want %q in it", text, want)
		}
	})
}
