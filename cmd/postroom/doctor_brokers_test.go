package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/cmd/postroom/internal/doctor"
	"github.com/postroom/postroom/internal/testoutput"
	"github.com/postroom/postroom/internal/testservices"
)

func TestDoctor_brokers(t *testing.T) {
	t.Parallel()
	t.Run("finds_nothing_wrong_where_nothing_is", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onRabbitMQ(t)
		p := startRelay(d, b.settings)
		d.enqueue(orders(b.topic, 20)...)
		eventually(t, "all messages to be settled", func() bool { return d.count("messages") == 0 })
		all, _ := d.findings("--amqp", testservices.AMQP(t))
		for _, f := range all {
			if f.Severity != doctor.Notice {
				t.Errorf("got %+v", f)
			}
		}
		p.signal(syscall.SIGTERM)
		p.wantCode(0, "")
	})
	t.Run("tells_that_a_broker_cannot_be_reached", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		d.want([]string{"--amqp", "amqp://127.0.0.1:1/"}, "brokers", doctor.Critical, "cannot be reached", "transport amqp")
		file := writeFile(t, "transports: {k: {kafka: {brokers: ['127.0.0.1:1'], delivery_timeout: 1s}}}")
		d.want([]string{"--config", file}, "brokers", doctor.Critical, "cannot be reached", "transport k")
	})
	for name, open := range testBrokers {
		t.Run("names_topics_that_messages_wait_for_and_that_are_missing_on_"+name, func(t *testing.T) {
			t.Parallel()
			d, missing, named := newPostgreSQL(t).migrate(), testservices.Name("missing"), testservices.Name("named")
			d.enqueue(message(missing, "k"))
			file := writeFile(t, "transports: {events: {topics: ["+named+"], "+open(t).settings+"}}")
			args := []string{"--config", file}
			d.want(args, "brokers", doctor.Critical, missing, "create what is missing")
			d.want(args, "brokers", doctor.Critical, named, "create what is missing")
		})
	}
	t.Run("names_settings_with_which_Kafka_loses_what_it_confirmed", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onKafka(t)
		d.enqueue(message(b.topic, "k"))
		args := []string{"--kafka", strings.Join(testservices.Kafka(t), ",")}
		d.want(args, "brokers", doctor.Warning, b.topic, "one replica", "give the topic three replicas")
	})
	t.Run("names_an_alternate_exchange", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onRabbitMQ(t)
		d.enqueue(message(b.topic, "k"))
		args := []string{"--amqp", testservices.AMQP(t)}
		d.want(args, "brokers", doctor.Notice, "cannot be seen", "--management")
		args = append(args, "--management", managementAPI(t, b.topic))
		swallows := `"` + b.topic + `" has the alternate exchange "unrouted"`
		d.want(args, "brokers", doctor.Warning, swallows, "is parked instead of lost")
		args[3] = "http://127.0.0.1:1"
		d.want(args, "brokers", doctor.Warning, "ask the management API", "the tag monitoring")
	})
	t.Run("names_transports_that_the_configuration_lacks", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		m := message("orders", "k")
		m.Transport = "nowhere"
		d.enqueue(m)
		args := []string{"--amqp", testservices.AMQP(t)}
		d.want(args, "transports", doctor.Critical, `transport "nowhere"`, "add it under transports")
	})
	t.Run("is_called_wrongly_with_2", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{
			{"doctor"},
			{"doctor", "--config", "missing.yaml"},
			{"doctor", "--database", "x"},
			{"doctor", "--database", "postgres://h/d", "--management", "http://h"},
			{"doctor", "--config", "a", "--kafka", "b"},
		} {
			var out, errs testoutput.Buffer
			nothing := func(string) string { return "" }
			if code := run(t.Context(), args, nothing, &out, &errs); code != exitUsage {
				t.Errorf("%v: exit code %d, want %d: %s", args, code, exitUsage, errs.String())
			}
		}
	})
	t.Run("ends_with_1_when_the_database_is_away", func(t *testing.T) {
		t.Parallel()
		var out, errs testoutput.Buffer
		args := []string{"doctor", "--database", "postgres://u:secret@127.0.0.1:1/d"}
		if code := run(t.Context(), args, os.Getenv, &out, &errs); code != exitFailed {
			t.Errorf("exit code %d, want %d", code, exitFailed)
		}
		if strings.Contains(errs.String(), "secret") {
			t.Error("printed the password")
		}
	})
}

// managementAPI answers as RabbitMQ does about an exchange with an alternate exchange and a queue.
func managementAPI(tb testing.TB, exchange string) string {
	tb.Helper()
	uri, err := amqp091.ParseURI(testservices.AMQP(tb))
	must(tb, err)
	vhost := url.PathEscape(uri.Vhost)
	exchanges, queues := "/api/exchanges/"+vhost+"/", "/api/queues/"+vhost+"/"
	answers := map[string]string{
		exchanges + exchange:                      `{"durable":true,"arguments":{"alternate-exchange":"unrouted"}}`,
		exchanges + exchange + "/bindings/source": `[{"destination":"q","destination_type":"queue"}]`,
		queues + "q":                              `{"name":"q","durable":true,"arguments":{}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, answers[r.URL.EscapedPath()])
	}))
	tb.Cleanup(server.Close)
	return server.URL
}
