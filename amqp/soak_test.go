//go:build soak

package amqp_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testload"
	"github.com/postroom/postroom/internal/testnodes"
	"github.com/postroom/postroom/outbox"
)

const orders = "orders"

// declare makes the exchange and a quorum queue on every node, or what args say, on brokers of the test's own.
func declare(t *testing.T, url string, args amqp091.Table) {
	t.Helper()
	ch := channelTo(t, url)
	must(t, ch.ExchangeDeclare(orders, amqp091.ExchangeTopic, true, false, false, false, nil))
	_, err := ch.QueueDeclare(orders, true, false, false, false, args)
	must(t, err)
	must(t, ch.QueueBind(orders, "#", orders, false, nil))
}

var quorum = amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}

func channelTo(t *testing.T, url string) *amqp091.Channel {
	t.Helper()
	conn, err := amqp091.Dial(url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	must(t, err)
	return ch
}

// payloads reads all that the queue holds.
func payloads(t *testing.T, url string) []string {
	t.Helper()
	ch := channelTo(t, url)
	must(t, ch.Qos(1000, 0, false))
	deliveries, err := ch.Consume(orders, "", false, true, false, false, nil)
	must(t, err)
	mark := amqp091.Publishing{Type: "mark", DeliveryMode: amqp091.Persistent}
	must(t, ch.PublishWithContext(within(t, time.Minute), "", orders, true, false, mark))
	var all []string
	for limit := time.After(2 * time.Minute); ; {
		select {
		case d := <-deliveries:
			must(t, d.Ack(false))
			if d.Type == "mark" {
				return all
			}
			all = append(all, string(d.Body))
		case <-limit:
			t.Fatalf("read %d messages and no end", len(all))
		}
	}
}

func openAt(t *testing.T, config amqp.Config, nodes ...*testnodes.RabbitMQNode) *amqp.Publisher {
	t.Helper()
	for _, n := range nodes {
		config.URLs = append(config.URLs, n.URL())
	}
	return open(t, config)
}

// TestSoakRestart counts goroutines, so nothing runs beside it.
func TestSoakRestart(t *testing.T) {
	node := testnodes.RabbitMQ(t, 1)[0]
	declare(t, node.URL(), quorum)
	load := testload.Start(t, openAt(t, amqp.Config{}, node), orders)
	load.Delivers(t, 500)
	goroutines := runtime.NumGoroutine()
	for i := range 20 {
		if i%2 == 0 {
			node.Kill(t)
		} else {
			node.Stop(t)
		}
		node.Start(t)
		load.Delivers(t, 500)
	}
	eventually(t, 10*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines+4 })
	testload.Check(t, load.Finish(t), payloads(t, node.URL()))
}

func TestSoakAlarm(t *testing.T) {
	t.Parallel()
	node := testnodes.RabbitMQ(t, 1)[0]
	declare(t, node.URL(), quorum)
	p := openAt(t, amqp.Config{ConfirmTimeout: 5 * time.Second, WriteTimeout: 3 * time.Second}, node)
	load := testload.Start(t, p, orders)
	load.Delivers(t, 500)

	t.Run("stops_handing_over_and_counts_no_failure", func(t *testing.T) {
		node.Ctl(t, "set_vm_memory_high_watermark", "0")
		load.Meets(t, 20)
		eventually(t, 10*time.Second, func() bool {
			results := p.Publish(within(t, time.Minute), messages(10, orders, "mark"))
			return strings.Contains(results[0].Err().Error(), "broker blocks publishers") && tally(results)["unavailable"] == 10
		})
	})

	t.Run("lets_another_publisher_close_in_time_while_it_waits", func(t *testing.T) {
		other := openAt(t, amqp.Config{}, node)
		waiting := make(chan []outbox.Result, 1)
		large := messages(20, orders, "mark")
		for _, m := range large {
			m.Payload = make([]byte, 1<<20) // fills the socket
		}
		go func() { waiting <- other.Publish(context.Background(), large) }()
		eventually(t, 10*time.Second, func() bool {
			return strings.Contains(node.Ctl(t, "list_connections", "state"), "block")
		})
		begin := time.Now()
		must(t, other.Close())
		wantWithin(t, "Close under an alarm", time.Since(begin), 3*time.Second)
		wantOnly(t, <-waiting, "unknown", "no word", "unavailable")
	})

	t.Run("resumes_when_it_ends", func(t *testing.T) {
		node.Ctl(t, "set_vm_memory_high_watermark", "0.6")
		load.Delivers(t, 500)
	})
	each := load.Finish(t)
	testload.Check(t, each, withoutMarks(payloads(t, node.URL())))
}

// withoutMarks leaves out what did not come from the load.
func withoutMarks(all []string) (load []string) {
	for _, p := range all {
		if strings.HasPrefix(p, "key-") {
			load = append(load, p)
		}
	}
	return load
}

func TestSoakFrozen(t *testing.T) {
	t.Parallel()
	node := testnodes.RabbitMQ(t, 1)[0]
	declare(t, node.URL(), quorum)
	config := amqp.Config{ConfirmTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second, DialTimeout: 2 * time.Second}
	p := openAt(t, config, node)
	load := testload.Start(t, p, orders)
	load.Delivers(t, 500)
	node.Freeze(t)
	load.Meets(t, 20)
	begin := time.Now()
	wantOnly(t, p.Publish(within(t, time.Minute), messages(10, orders, "mark")), "unknown", "unavailable")
	wantWithin(t, "a call on a frozen broker", time.Since(begin), 8*time.Second)
	node.Thaw(t)
	load.Delivers(t, 500)
	testload.Check(t, load.Finish(t), withoutMarks(payloads(t, node.URL())))
}

func TestSoakCluster(t *testing.T) {
	t.Parallel()
	nodes := testnodes.RabbitMQ(t, 3)
	declare(t, nodes[0].URL(), quorum)
	load := testload.Start(t, openAt(t, amqp.Config{}, nodes...), orders)
	load.Delivers(t, 500)
	for _, node := range nodes { // each is the publisher's, or leads the queue, once
		node.Kill(t)
		load.Delivers(t, 1000)
		node.Start(t)
		load.Delivers(t, 500)
	}
	testload.Check(t, load.Finish(t), payloads(t, nodes[0].URL()))
}

func TestSoakCheck(t *testing.T) {
	t.Parallel()
	node := testnodes.RabbitMQ(t, 1)[0]
	declare(t, node.URL(), amqp091.Table{"x-max-length": 5})
	ch := channelTo(t, node.URL())
	spare := amqp091.Table{"alternate-exchange": "spare"}
	must(t, ch.ExchangeDeclare("mail", amqp091.ExchangeDirect, false, false, false, false, spare))
	must(t, ch.ExchangeBind(orders, "#", "mail", false, nil))
	node.Ctl(t, "set_policy", "spare", "^orders$", `{"alternate-exchange":"spare"}`, "--apply-to", "exchanges")
	p := openAt(t, amqp.Config{Management: node.EnableManagement(t)}, node)
	var warnings []string
	eventually(t, time.Minute, func() bool { // the API begins to listen, and learns, a moment later
		var err error
		warnings, err = p.Check(within(t, time.Minute), orders, "mail")
		return err == nil && len(warnings) == 5
	})
	for i, want := range []string{
		`"orders" has the alternate`, `"orders" drops`, `"mail" has the alternate`, `"mail" is not durable`, `"orders" drops`,
	} {
		if !strings.Contains(warnings[i], want) {
			t.Errorf("warning %d is %q, want one that says %q", i, warnings[i], want)
		}
	}
}
