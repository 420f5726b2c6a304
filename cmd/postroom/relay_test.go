package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// startRelay starts a relay from d to a transport with these settings, and with more lines of configuration.
func startRelay(d *testDatabase, transport string, more ...string) *process {
	d.Helper()
	text := fmt.Sprintf("database: {url: '${RELAY_DATABASE}'}\ntransports:\n  events:\n    %s\n%s\n",
		transport, strings.Join(more, "\n"))
	return start(d, []string{"RELAY_DATABASE=" + d.url}, "relay", "--config", writeFile(d, text))
}

func writeFile(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "relay.yaml")
	must(tb, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// orders are n messages of ten keys.
func orders(topic string, n int) []*outbox.Message {
	messages := make([]*outbox.Message, n)
	for i := range messages {
		key := fmt.Sprint("order-", i%10)
		messages[i] = message(topic, key)
		messages[i].Headers = []outbox.Header{{Name: keyHeader, Value: key}}
	}
	return messages
}

func TestRelay(t *testing.T) {
	t.Parallel()
	for name, open := range testBrokers {
		t.Run("to_"+name+"_ends_with_0_when_told_to_under_load_and_the_next_one_goes_on_without_loss_or_duplicate",
			func(t *testing.T) {
				t.Parallel()
				d, b := newPostgreSQL(t).migrate(), open(t)
				var enqueued []*outbox.Message
				var stop atomic.Bool
				done := make(chan struct{})
				go func() {
					defer close(done)
					for !stop.Load() {
						batch := orders(b.topic, 50)
						d.enqueue(batch...)
						enqueued = append(enqueued, batch...)
					}
				}()
				for range 3 {
					before := b.arrived.count()
					p := startRelay(d, b.settings)
					eventually(t, "messages to arrive", func() bool { return b.arrived.count() > before+200 })
					p.signal(syscall.SIGTERM)
					p.wantCode(0, "outbox: relay stopped")
				}
				stop.Store(true)
				<-done
				p := startRelay(d, b.settings)
				eventually(t, "all messages to be settled", func() bool { return d.count("messages") == 0 })
				p.signal(syscall.SIGTERM)
				p.wantCode(0, "outbox: relay stopped")
				eventually(t, "all messages to arrive", func() bool { return b.arrived.count() >= len(enqueued) })
				b.arrived.want(t, enqueued)
			})
	}
	t.Run("from_MariaDB_delivers", func(t *testing.T) {
		t.Parallel()
		d, b := newMariaDB(t).migrate(), onKafka(t)
		enqueued := orders(b.topic, 100)
		d.enqueue(enqueued...)
		p := startRelay(d, b.settings)
		eventually(t, "all messages to arrive", func() bool { return b.arrived.count() >= len(enqueued) })
		p.signal(syscall.SIGTERM)
		p.wantCode(0, "outbox: relay stopped")
		b.arrived.want(t, enqueued)
	})
	t.Run("serves_several_transports_by_name", func(t *testing.T) {
		t.Parallel()
		d, k, r := newPostgreSQL(t).migrate(), onKafka(t), onRabbitMQ(t)
		mail := orders(r.topic, 20)
		for _, m := range mail {
			m.Transport = "mail"
		}
		events := orders(k.topic, 20)
		d.enqueue(append(mail, events...)...)
		startRelay(d, k.settings, "  mail:", "    "+r.settings, "default_transport: events")
		eventually(t, "all messages to be settled", func() bool { return d.count("messages") == 0 })
		eventually(t, "all messages to arrive", func() bool { return k.arrived.count()+r.arrived.count() >= 40 })
		k.arrived.want(t, events)
		r.arrived.want(t, mail)
	})
	t.Run("ends_with_1_at_an_exhausted_message_whose_policy_is_stop_and_says_so_in_its_log", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onKafka(t)
		large := message(b.topic, "k")
		large.Payload = make([]byte, 4096)
		d.enqueue(large)
		p := startRelay(d, strings.Replace(b.settings, "{", "{max_message_bytes: 2KiB, ", 1),
			"relay: {topics: {"+b.topic+": {on_exhausted: stop}}}")
		p.wantCode(1, `"msg":"outbox: relay process ended"`)
		p.wantCode(1, "its policy is Stop")
		if d.count("messages") != 1 {
			t.Error("the message is gone")
		}
	})
	t.Run("tells_whether_it_is_live_and_ready", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onKafka(t)
		p := startRelay(d, b.settings, "http: {address: '127.0.0.1:0'}", "health: {max_parked: -1}")
		eventually(t, "readiness", func() bool { return p.probe("readyz") == http.StatusOK })
		large := message(b.topic, "k")
		large.Payload = make([]byte, 2<<20)
		d.enqueue(large)
		eventually(t, "a parked message to end readiness", func() bool {
			return p.probe("readyz") == http.StatusServiceUnavailable
		})
		if got := p.probe("livez"); got != http.StatusOK {
			t.Errorf("livez answers %d, want 200", got)
		}
	})
	t.Run("exports_its_metrics", func(t *testing.T) {
		t.Parallel()
		d, b := newPostgreSQL(t).migrate(), onKafka(t)
		p := startRelay(d, b.settings, "http: {address: '127.0.0.1:0'}")
		d.enqueue(orders(b.topic, 20)...)
		for _, want := range []string{
			`outbox_settled_total{.*verdict="delivered".*} 20`, `messaging_client_sent_messages_total{.*kafka.*} 20`,
			`outbox_backlog_available{.*} 1`, `outbox_relays{.*state="ready".*} 1`, `go_goroutines `,
		} {
			eventually(t, want, func() bool {
				status, text := p.get("metrics")
				return status == http.StatusOK && regexp.MustCompile(want).MatchString(text)
			})
		}
	})
	t.Run("is_killed_by_a_second_signal", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		address := unused(t)
		p := startRelay(d, "amqp: {urls: ['amqp://"+address+"'], dial_timeout: 5m}", "relay: {stop_timeout: 5m}")
		p.await("outbox: broker does not answer")
		keepSilent(t, address)
		d.enqueue(message("orders", "k"))
		eventually(t, "a claim", func() bool { return d.count("claims") == 1 })
		p.signal(syscall.SIGTERM)
		p.await("outbox: relay stops when")
		eventually(t, "the end", func() bool {
			p.signal(syscall.SIGTERM)
			select {
			case <-p.ended:
				return true
			default:
				return false
			}
		})
		if got := p.code(); got != -1 {
			t.Errorf("exit code %d, want the end by a signal", got)
		}
	})
}

// probe asks the relay's HTTP server, and returns the status of its answer.
func (p *process) probe(path string) int {
	p.Helper()
	status, _ := p.get(path)
	return status
}

func (p *process) get(path string) (status int, text string) {
	p.Helper()
	p.await("outbox: health and metrics are served")
	at := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(p.errs.String())
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+at[1]+"/"+path, nil)
	must(p, err)
	answer, err := http.DefaultClient.Do(request)
	must(p, err)
	body, err := io.ReadAll(answer.Body)
	must(p, err)
	must(p, answer.Body.Close())
	return answer.StatusCode, string(body)
}

// unused is an address at which nobody listens.
func unused(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(tb, err)
	must(tb, l.Close())
	return l.Addr().String()
}

// keepSilent makes address a server that takes connections and never says a word.
func keepSilent(tb testing.TB, address string) {
	tb.Helper()
	l, err := net.Listen("tcp", address)
	must(tb, err)
	tb.Cleanup(func() { _ = l.Close() })
}

func TestRelay_start(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		text string
		want string
	}{
		{"a_key_that_there_is_not", "relay: {bacth: 5}", "there is no key relay.bacth: is it relay.batch?"},
		{"a_value_out_of_bounds", "relay: {batch: 20000}", "Batch is 20000, the bound is 10000"},
		{"a_table_prefix_that_is_none", "database: {url: 'postgres://h/d', name: 'a b'}", `Name "a b"`},
		{"no_transport", "database: {url: 'postgres://h/d'}\ntransports: {}", "transports is empty"},
		{"a_transport_without_brokers", "transports: {events: {kafka: {}}}", "transports.events"},
		{"no_database", "database: {}", "database.url is missing"},
	} {
		t.Run("ends_with_2_for_"+tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(tt.text, "transports:") {
				tt.text += "\ntransports: {events: {kafka: {brokers: ['127.0.0.1:1']}}}"
			}
			if !strings.Contains(tt.text, "database:") {
				tt.text += "\ndatabase: {url: 'postgres://127.0.0.1:1/d'}"
			}
			start(t, []string{"DATABASE_URL="}, "relay", "--config", writeFile(t, tt.text)).wantCode(2, tt.want)
		})
	}
	t.Run("ends_with_2_for_a_file_that_is_not_there", func(t *testing.T) {
		t.Parallel()
		start(t, nil, "relay", "--config", "missing.yaml").wantCode(2, "missing.yaml: no such file")
	})
	t.Run("ends_with_1_for_missing_tables_and_names_what_makes_them", func(t *testing.T) {
		t.Parallel()
		p := startRelay(newPostgreSQL(t), "kafka: {brokers: ['127.0.0.1:1']}")
		p.wantCode(1, "postroom migrate")
	})
	t.Run("ends_with_1_for_a_database_that_is_away", func(t *testing.T) {
		t.Parallel()
		d := &testDatabase{TB: t, url: "postgres://nobody:secret@127.0.0.1:1/none"}
		p := startRelay(d, "kafka: {brokers: ['127.0.0.1:1']}")
		p.wantCode(1, "connect to the database")
		if strings.Contains(p.errs.String(), "secret") {
			t.Error("the log shows the password")
		}
	})
	for name, open := range testBrokers {
		t.Run("ends_with_1_for_a_missing_topic_on_"+name, func(t *testing.T) {
			t.Parallel()
			topic := testservices.Name("missing")
			p := startRelay(newPostgreSQL(t).migrate(), open(t).settings, "    topics: ["+topic+"]")
			p.wantCode(1, topic)
		})
	}
	t.Run("takes_no_control_pool_of_another_database_than_the_one_that_is_given", func(t *testing.T) {
		t.Parallel()
		p := start(t, []string{
			"POSTROOM__DATABASE__URL=postgres://u@elsewhere/d", "POSTROOM__DATABASE__CONTROL__URL=postgres://u@elsewhere/d",
		}, "relay", "--print-config", "--database", "postgres://u@h/d")
		p.wantCode(0, "")
		if text := p.out.String(); strings.Contains(text, "elsewhere") || !strings.Contains(text, "postgres://u@h/d") {
			t.Errorf("printed %s", text)
		}
	})
	t.Run("prints_the_configuration_without_its_secrets", func(t *testing.T) {
		t.Parallel()
		p := start(t, []string{"POSTROOM__DATABASE__PASSWORD=secret", "POSTROOM__RELAY__WORKERS=7"},
			"relay", "--print-config", "--database", "postgres://u:secret@h/d")
		p.wantCode(0, "")
		if text := p.out.String(); strings.Contains(text, "secret") || !strings.Contains(text, "workers: 7") {
			t.Errorf("printed %s", text)
		}
	})
}
