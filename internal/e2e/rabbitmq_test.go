package e2e

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/outbox"
)

// rabbitMQ keeps what an exchange gets in a quorum queue beside that of the shop.
type rabbitMQ struct{ address string }

func sharedRabbitMQ(t *testing.T) broker {
	t.Helper()
	return rabbitMQ{testservices.AMQP(t)}
}

func (r rabbitMQ) url() string { return r.address }

func (r rabbitMQ) namesMessages() bool { return true }

// channel is open until the test ends.
func (r rabbitMQ) channel(t *testing.T) *amqp091.Channel {
	t.Helper()
	connection, err := amqp091.Dial(r.address)
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() }) // a broker that was stopped has closed it already
	channel, err := connection.Channel()
	must(t, err)
	return channel
}

func (r rabbitMQ) declare(t *testing.T, topic string) {
	t.Helper()
	r.exchange(t, topic)
	r.bind(t, topic)
}

// exchange declares an exchange and a queue, and nothing between them.
func (r rabbitMQ) exchange(t *testing.T, topic string) {
	t.Helper()
	channel := r.channel(t)
	must(t, channel.ExchangeDeclare(topic, amqp091.ExchangeTopic, true, false, false, false, nil))
	quorum := amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}
	_, err := channel.QueueDeclare(recorderQueue(topic), true, false, false, false, quorum)
	must(t, err)
	t.Cleanup(func() { drop(t, "exchange "+topic, r.remove(topic)) })
}

func (r rabbitMQ) bind(t *testing.T, topic string) {
	t.Helper()
	must(t, r.channel(t).QueueBind(recorderQueue(topic), "#", topic, false, nil))
}

func recorderQueue(topic string) string { return topic + "-recorder" }

// remove deletes the exchange and its queues, the shop's included.
func (r rabbitMQ) remove(topic string) error {
	connection, err := amqp091.Dial(r.address)
	if err != nil {
		return err
	}
	channel, err := connection.Channel()
	if err != nil {
		return errors.Join(err, connection.Close())
	}
	_, recorded := channel.QueueDelete(recorderQueue(topic), false, false, false)
	_, shipped := channel.QueueDelete(topic+"-shipping", false, false, false)
	return errors.Join(recorded, shipped, channel.ExchangeDelete(topic, false, false), connection.Close())
}

func (r rabbitMQ) publisher(t *testing.T) outbox.Publisher {
	t.Helper()
	publisher, err := amqp.Open(amqp.Config{URLs: []string{r.address}})
	must(t, err)
	t.Cleanup(func() { drop(t, "publisher", publisher.Close()) })
	return publisher
}

func (r rabbitMQ) record(t *testing.T, topic string) *recorder {
	t.Helper()
	channel := r.channel(t)
	must(t, channel.Confirm(false))
	deliveries, err := channel.Consume(recorderQueue(topic), "", true, true, false, false, nil)
	must(t, err)
	marks := make(chan string, 1)
	rec := &recorder{end: func(ctx context.Context) error { return sendMark(ctx, channel, topic, marks) }}
	go func() { // ends with the connection
		for d := range deliveries {
			if d.Type == markType {
				marks <- d.MessageId
				continue
			}
			id, _ := d.Headers[outbox.HeaderID].(string)
			trace, _ := d.Headers["traceparent"].(string)
			rec.add(delivery{id: id, messageID: d.MessageId, kind: d.Type, trace: trace}, d.Body)
		}
	}()
	return rec
}

const markType = "e2e.mark"

// sendMark puts a message behind all others of the recorder's queue and waits until it comes back.
func sendMark(ctx context.Context, channel *amqp091.Channel, topic string, marks <-chan string) error {
	mark := amqp091.Publishing{Type: markType, MessageId: uuid.NewString()}
	confirm, err := channel.PublishWithDeferredConfirmWithContext(ctx, "", recorderQueue(topic), true, false, mark)
	if err != nil {
		return err
	}
	if ok, err := confirm.WaitContext(ctx); err != nil || !ok {
		return errors.Join(errors.New("the queue did not take a mark"), err)
	}
	select {
	case <-marks:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
