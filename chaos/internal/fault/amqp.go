//go:build unix

package fault

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/chaos/internal/record"
	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/outbox"
)

func amqpFaults(s *Scene) []Fault {
	faults := []Fault{
		{"kill a broker", 3, killNode},
		{"freeze a broker", 2, freezeNode},
		{"memory alarm", 2, alarm},
		{"delete a queue", 2, deleteQueue},
		{"full queue rejects", 2, fillQueue},
	}
	if s.Nodes() > 1 {
		faults = append(faults, Fault{"kill a queue's leader", 3, killQueueLeader})
	}
	return faults
}

// control runs rabbitmqctl on a node that answers.
func control(s *Scene, args ...string) (out string, err error) {
	for _, n := range s.RabbitMQ {
		err = s.Try(func(tb testing.TB) { out = n.Ctl(tb, args...) })
		if err == nil {
			return out, nil
		}
	}
	return "", err
}

// alarm lets a node run out of memory, as it thinks, so that it stops to read from publishers.
func alarm(ctx context.Context, s *Scene, r *rand.Rand) error {
	node := s.RabbitMQ[r.IntN(s.Nodes())]
	set := func(limit string) error {
		return s.Try(func(tb testing.TB) { node.Ctl(tb, "set_vm_memory_high_watermark", limit) })
	}
	if err := set("0"); err != nil {
		return brokenScene{err}
	}
	wait.For(ctx, between(r, time.Second, 7*time.Second))
	if err := set("0.6"); err != nil {
		return brokenScene{err}
	}
	return nil
}

// killQueueLeader kills the node on which a queue is led.
func killQueueLeader(ctx context.Context, s *Scene, r *rand.Rand) error {
	out, err := control(s, "list_queues", "name", "leader")
	if err != nil {
		return brokenScene{err}
	}
	topics := record.Topics()
	queue := topics[r.IntN(len(topics))]
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] != queue {
			continue
		}
		for i, n := range s.RabbitMQ {
			if n.Name() == fields[1] {
				return killNumber(ctx, s, r, i)
			}
		}
	}
	return errMissed
}

// fillQueue gives the fragile queue no room, so that it rejects what is published.
func fillQueue(ctx context.Context, s *Scene, r *rand.Rand) error {
	const policy = "full"
	_, err := control(s, "set_policy", policy, "^"+wire.Fragile+"$",
		`{"max-length":1,"overflow":"reject-publish"}`, "--apply-to", "queues")
	if err != nil {
		return brokenScene{err}
	}
	wait.For(ctx, between(r, time.Second, 6*time.Second))
	if _, err := control(s, "clear_policy", policy); err != nil {
		return brokenScene{err}
	}
	return nil
}

// deleteQueue unbinds the fragile queue, so that its messages have no way, deletes it once it is empty, and after a
// time declares it again.
func deleteQueue(ctx context.Context, s *Scene, r *rand.Rand) error {
	err := onChannel(s, func(c *amqp091.Channel) error { return c.QueueUnbind(wire.Fragile, "#", wire.Fragile, nil) })
	if err != nil {
		return errMissed
	}
	lasting := context.WithoutCancel(ctx)
	empty := wait.Until(lasting, 20*time.Second, "the queue is empty", func(ctx context.Context) (bool, error) {
		n, err := length(s, wire.Fragile)
		if err != nil || n > 0 || !wait.For(ctx, 1500*time.Millisecond) {
			return false, err
		}
		n, err = length(s, wire.Fragile)
		return n == 0, err
	})
	if empty == nil {
		_ = onChannel(s, func(c *amqp091.Channel) error {
			_, err := c.QueueDelete(wire.Fragile, false, false, false)
			return err
		})
		wait.For(ctx, between(r, 0, 4*time.Second))
	}
	heal := wait.Until(lasting, time.Minute, "the queue is back", func(context.Context) (bool, error) {
		err := onChannel(s, func(c *amqp091.Channel) error { return Declare(c, wire.Fragile) })
		return err == nil, err
	})
	if heal != nil {
		return brokenScene{heal}
	}
	return requeue(ctx, s, wire.Fragile, "the queue is back")
}

func length(s *Scene, queue string) (n int, err error) {
	err = onChannel(s, func(c *amqp091.Channel) error {
		q, err := c.QueueDeclarePassive(queue, true, false, false, false, record.QueueArgs())
		n = q.Messages
		return err
	})
	return n, err
}

// Declare makes the exchange and the queue of a topic, and binds all of the one to the other.
func Declare(c *amqp091.Channel, topic string) error {
	if err := c.ExchangeDeclare(topic, amqp091.ExchangeTopic, true, false, false, false, nil); err != nil {
		return err
	}
	if _, err := c.QueueDeclare(topic, true, false, false, false, record.QueueArgs()); err != nil {
		return err
	}
	return c.QueueBind(topic, "#", topic, false, nil)
}

// onChannel runs do on a channel to a node that answers.
func onChannel(s *Scene, do func(c *amqp091.Channel) error) (err error) {
	for _, url := range s.URLs() {
		var connection *amqp091.Connection
		connection, err = amqp091.DialConfig(url, amqp091.Config{
			Heartbeat: 2 * time.Second, Dial: amqp091.DefaultDial(3 * time.Second),
		})
		if err != nil {
			continue
		}
		var channel *amqp091.Channel
		if channel, err = connection.Channel(); err == nil {
			err = do(channel)
		}
		_ = connection.Close()
		if err == nil {
			return nil
		}
	}
	return err
}

// requeue takes up what is parked of a topic, whose cause is gone. What it does not reach, because the database is away
// for its part, is taken up when the trial ends.
func requeue(ctx context.Context, s *Scene, topic, reason string) error {
	act := outbox.Act{By: "chaos", Reason: reason}
	_, _ = outbox.ActOnAll(ctx, s.Load.Store(), outbox.Inspector.Requeue, act, outbox.Filter{Topic: topic})
	return nil
}
