package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// guardedKafka starts a Kafka that wants TLS and a login, with topic t, and returns its transport's settings.
func guardedKafka(t *testing.T) (settings string) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.TLS(certified.TLS),
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "verifier", "hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw}
	must(t, os.WriteFile(ca, pem.EncodeToMemory(block), 0o600))
	return fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true, ca_file: %s}, "+
		"sasl: {mechanism: scram-sha-256, user: verifier, password: hunter2}}", strings.Join(cluster.ListenAddrs(), ","), ca)
}

// TestVerify_config: what a relay needs to reach a broker, verify takes from its configuration.
func TestVerify_config(t *testing.T) {
	t.Run("reads_a_Kafka_that_wants_TLS_and_a_login", func(t *testing.T) {
		t.Parallel()
		settings := guardedKafka(t)
		config := writeFile(t, "transports:\n  events: {"+settings+"}\n  mail: {amqp: {urls: [amqp://h]}}\n")
		p := &place{config: config, transport: "events"}
		root := newRoot(os.Getenv)
		must(t, p.find(&target{getenv: os.Getenv}, root))
		options, err := p.kafka.Reading()
		must(t, err)
		client, err := kgo.NewClient(options...)
		must(t, err)
		defer client.Close()
		id := kgo.RecordHeader{Key: outbox.HeaderID, Value: []byte(uuid.NewString())}
		record := &kgo.Record{Topic: "t", Headers: []kgo.RecordHeader{id}}
		must(t, client.ProduceSync(t.Context(), record).FirstErr())

		args := []string{"verify", "--config", config, "--topic", "t", file(t, committedLine)}
		code, out, errs := call(t.Context(), append(args, "--transport", "events")...)
		if code != exitFinding || !strings.Contains(out, "1 arrived that nobody known enqueued") {
			t.Errorf("exit %d, printed %s, %s", code, out, errs)
		}
		code, _, errs = call(t.Context(), args...)
		if code != exitUsage || !strings.Contains(errs, `say by --transport which of ["events" "mail"]`) {
			t.Errorf("without a transport: exit %d, printed %s", code, errs)
		}
	})
	t.Run("takes_the_database_and_the_passwords_from_it", func(t *testing.T) {
		s := newShop(t)
		p := s.inRabbitMQ(s.topic, "stream")
		s.enqueue(3, "a")
		s.relay(p)
		rabbit, err := url.Parse(testservices.AMQP(t))
		must(t, err)
		password, _ := rabbit.User.Password()
		rabbit.User = url.UserPassword(rabbit.User.Username(), "wrong")
		config := writeFile(t, fmt.Sprintf("database: {url: %q, schema: %s}\n"+
			"transports: {mail: {amqp: {urls: ['amqp://127.0.0.1:1', %q], password: %q}}}\n",
			testservices.Postgres(t), s.schema, rabbit.String(), password))
		code, out, errs := call(t.Context(), "verify", "--config", config, "--topic", s.topic, "--stream", s.topic)
		if code != 0 || !strings.Contains(out, "OK: nothing lost") {
			t.Errorf("exit %d, printed %s, %s", code, out, errs)
		}
	})
	t.Run("is_called_wrongly_with_2", func(t *testing.T) {
		t.Parallel()
		config := writeFile(t, "transports: {k: {kafka: {brokers: [a]}}}\n")
		for _, args := range [][]string{
			{"--config", "missing.yaml"},
			{"--config", config, "--kafka", "a:1"},
			{"--transport", "k"},
			{"--config", config, "--transport", "other"},
			{"--config", config, "--amqp", "amqp://h"},
		} {
			args = append([]string{"verify", "--topic", "t"}, args...)
			if code, _, errs := call(t.Context(), args...); code != exitUsage || errs == "" {
				t.Errorf("%v: exit %d, printed %s", args, code, errs)
			}
		}
	})
}
