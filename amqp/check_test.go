package amqp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

func TestCheck(t *testing.T) {
	t.Parallel()

	t.Run("names_every_missing_exchange_and_declares_none", func(t *testing.T) {
		t.Parallel()
		exchange, _ := connect(t).bound()
		first, second := "amqp-"+uuid.NewString(), "amqp-"+uuid.NewString()
		p := open(t, amqp.Config{})
		for range 2 {
			warnings, err := p.Check(within(t, time.Minute), first, exchange, "", second)
			if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) ||
				strings.Contains(err.Error(), exchange) {
				t.Errorf("error = %v, want the two missing exchanges", err)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], "set Config.Management") {
				t.Errorf("warnings = %q, want what cannot be seen", warnings)
			}
		}
		wantTally(t, p.Publish(within(t, time.Minute), messages(3, exchange, "placed")), map[string]int{"accepted": 3})
	})

	t.Run("says_that_the_broker_does_not_answer", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		proxy.freeze()
		p := open(t, amqp.Config{URLs: []string{proxy.url}, DialTimeout: 300 * time.Millisecond})
		begin := time.Now()
		_, err := p.Check(within(t, time.Minute), "a", "b")
		if outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
		wantWithin(t, "a check without an answer", time.Since(begin), 3*time.Second)
	})

	t.Run("tells_of_a_broker_that_is_away_without_exchanges_too", func(t *testing.T) {
		t.Parallel()
		p := open(t, amqp.Config{})
		if _, err := p.Check(within(t, time.Minute)); err != nil {
			t.Errorf("error = %v, want none", err)
		}
		frozen := newProxy(t)
		frozen.freeze()
		p = open(t, amqp.Config{URLs: []string{frozen.url}, DialTimeout: 300 * time.Millisecond})
		if _, err := p.Check(within(t, time.Minute)); outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
	})

	t.Run("refuses_after_Close", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		p := open(t, amqp.Config{URLs: []string{proxy.url}})
		must(t, p.Close())
		if _, err := p.Check(within(t, time.Minute), "a"); outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
		if got := proxy.dials(); got != 0 {
			t.Errorf("%d connections after Close, want none", got)
		}
	})

	t.Run("ends_with_Close", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t)
		proxy.freeze()
		p := open(t, amqp.Config{URLs: []string{proxy.url}, DialTimeout: time.Minute})
		checked := make(chan error, 1)
		go func() {
			_, err := p.Check(context.Background(), "a")
			checked <- err
		}()
		eventually(t, 5*time.Second, func() bool { return proxy.dials() == 1 })
		begin := time.Now()
		must(t, p.Close())
		if err := <-checked; outbox.ClassOf(err) != outbox.ClassUnavailable {
			t.Errorf("error = %v, want that it is unavailable", err)
		}
		wantWithin(t, "Close during a check", time.Since(begin), 3*time.Second)
	})

	t.Run("warns_of_what_the_management_API_shows", func(t *testing.T) {
		t.Parallel()
		exchange, _ := connect(t).bound()
		uri, err := amqp091.ParseURI(testservices.AMQP(t))
		must(t, err)
		vhost := url.PathEscape(uri.Vhost)
		exchanges, queues := "/api/exchanges/"+vhost+"/", "/api/queues/"+vhost+"/"
		const bound = `{"destination":"%s","destination_type":"%s"}`
		toQueue := func(name string) string { return fmt.Sprintf(bound, name, "queue") }
		toExchange := func(name string) string { return fmt.Sprintf(bound, name, "exchange") }
		list := func(items ...string) string { return "[" + strings.Join(items, ",") + "]" }
		api := managementAPI(t, map[string]string{
			exchanges + exchange:                      `{"durable":false,"policy":"spare","arguments":{}}`,
			"/api/policies/" + vhost + "/spare":       `{"definition":{"alternate-exchange":"unbound"}}`,
			exchanges + exchange + "/bindings/source": list(toExchange("next"), toQueue("a"), toQueue("a")),
			exchanges + "next/bindings/source":        list(toExchange(exchange), toQueue("b"), toQueue("c")),
			queues + "a":                              `{"name":"a","durable":true,"arguments":{"x-max-length":5}}`,
			queues + "b": `{"name":"b","durable":false,"arguments":{},
				"effective_policy_definition":{"max-length-bytes":9,"overflow":"reject-publish"}}`,
			queues + "c": `{"name":"c","durable":true,"arguments":{"x-overflow":"drop-head"},
				"effective_policy_definition":[]}`,
		})
		p := open(t, amqp.Config{Management: api + "/", TrustQueues: true})
		warnings, err := p.Check(within(t, time.Minute), exchange)
		must(t, err)
		want := []string{
			`exchange "` + exchange + `" has the alternate exchange "unbound": ` +
				`messages that no queue is bound for count as delivered`,
			`exchange "` + exchange + `" is not durable: declare it so that it survives the broker`,
			`queue "a" drops its oldest messages when it is full, in silence: set overflow to reject-publish`,
			`queue "b" is not durable: what it confirmed ends with its broker`,
			`queue "b" refuses messages when it is full, and then TrustQueues breaks the order: do not set it`,
		}
		if diff := cmp.Diff(want, warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	})

	t.Run("tells_that_the_management_API_refuses_without_its_password", func(t *testing.T) {
		t.Parallel()
		exchange, _ := connect(t).bound()
		api := strings.Replace(managementAPI(t, nil), "http://", "http://user:secret@", 1)
		for _, at := range []string{api, "http://user:secret@127.0.0.1:1", "http://user:secret@::"} {
			_, err := open(t, amqp.Config{Management: at}).Check(within(t, time.Minute), exchange)
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("error = %v, want one that shows no password", err)
			}
		}
	})
}

// managementAPI answers questions as RabbitMQ 3.10 does.
func managementAPI(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.EscapedPath()]
		if !known {
			http.Error(w, r.URL.EscapedPath(), http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
