package subject

import (
	"context"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/bench/internal/load"
)

// amqpSender is a connection with one channel in confirm mode.
type amqpSender struct {
	conn     *amqp091.Connection
	channel  *amqp091.Channel
	returns  chan amqp091.Return
	exchange string
}

func newAMQPSender(site Site) (sender, error) { return dialAMQP(site, batch) }

// dialAMQP makes room for as many returns as messages may be on their way at once.
func dialAMQP(site Site, window int) (*amqpSender, error) {
	conn, err := amqp091.Dial(site.AMQP)
	if err != nil {
		return nil, fmt.Errorf("open RabbitMQ: %w", err)
	}
	s := &amqpSender{conn: conn, exchange: site.Destination}
	if s.channel, err = conn.Channel(); err == nil {
		err = s.channel.Confirm(false)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open a channel with confirms: %w", err)
	}
	s.returns = s.channel.NotifyReturn(make(chan amqp091.Return, window))
	return s, nil
}

// Send publishes a batch and then waits for all confirms.
func (s *amqpSender) Send(ctx context.Context, messages []load.Message) error {
	return s.send(ctx, messages, plain)
}

// plain is a message without headers.
func plain(m load.Message) (key string, p amqp091.Publishing) {
	return "", amqp091.Publishing{MessageId: m.ID.String(), DeliveryMode: amqp091.Persistent, Body: m.Body}
}

func (s *amqpSender) send(
	ctx context.Context, messages []load.Message, encode func(load.Message) (key string, p amqp091.Publishing),
) error {
	confirms := make([]*amqp091.DeferredConfirmation, len(messages))
	for i, m := range messages {
		key, p := encode(m)
		c, err := s.publish(ctx, key, p)
		if err != nil {
			return err
		}
		confirms[i] = c
	}
	for _, c := range confirms {
		if err := s.confirmed(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *amqpSender) publish(
	ctx context.Context, key string, p amqp091.Publishing,
) (*amqp091.DeferredConfirmation, error) {
	c, err := s.channel.PublishWithDeferredConfirmWithContext(ctx, s.exchange, key, true, false, p)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return c, nil
}

func (s *amqpSender) confirmed(ctx context.Context, c *amqp091.DeferredConfirmation) error {
	ok, err := c.WaitContext(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("wait for a confirm: %w", err)
	case !ok:
		return errNotConfirmed
	case len(s.returns) > 0:
		return errReturned
	}
	return nil
}

func (s *amqpSender) Close() error { return s.conn.Close() }
