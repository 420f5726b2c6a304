package servers

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/bench/internal/load"
)

// After quiet without a message, a queue that has given everything is taken for empty, and after silence any queue.
const (
	quiet   = 500 * time.Millisecond
	silence = 10 * time.Second
)

// exchange is a durable fanout exchange in front of one quorum queue; both have its name.
type exchange struct {
	name    string
	address string
	conn    *amqp091.Connection
	channel *amqp091.Channel
}

func newExchange(ctx context.Context, address string) (*exchange, error) {
	conn, err := amqp091.Dial(address)
	if err != nil {
		return nil, fmt.Errorf("open RabbitMQ: %w", err)
	}
	e := &exchange{name: newName(), address: address, conn: conn}
	if err := errors.Join(e.declare(), ctx.Err()); err != nil {
		return nil, errors.Join(fmt.Errorf("make an exchange and its queue: %w", err), conn.Close())
	}
	return e, nil
}

func (e *exchange) declare() (err error) {
	if e.channel, err = e.conn.Channel(); err != nil {
		return err
	}
	if err = e.channel.ExchangeDeclare(e.name, amqp091.ExchangeFanout, true, false, false, false, nil); err != nil {
		return err
	}
	quorum := amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}
	if _, err = e.channel.QueueDeclare(e.name, true, false, false, false, quorum); err != nil {
		return err
	}
	return e.channel.QueueBind(e.name, "", e.name, false, nil)
}

func (e *exchange) Name() string { return e.name }

// Count takes the messages out of the queue, in its order.
func (e *exchange) Count(ctx context.Context, c *load.Checker) error {
	deliveries, err := e.channel.ConsumeWithContext(ctx, e.name, e.name, true, true, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume %s: %w", e.name, err)
	}
	for {
		limit := silence
		if c.Complete() {
			limit = quiet
		}
		select {
		case d, ok := <-deliveries:
			if !ok {
				return errors.Join(fmt.Errorf("consume %s: the channel was closed", e.name), ctx.Err())
			}
			c.Observe(d.Body)
		case <-time.After(limit):
			return e.channel.Cancel(e.name, false)
		}
	}
}

func (e *exchange) Delete() error {
	_, err1 := e.channel.QueueDelete(e.name, false, false, false)
	err2 := e.channel.ExchangeDelete(e.name, false, false)
	err3 := e.conn.Close()
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("delete exchange and queue %s: %w", e.name, err)
	}
	return nil
}
