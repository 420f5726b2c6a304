package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
)

const (
	amqpPrefetch = 1000
	streamQuiet  = 3 * time.Second // a stream does not tell where it ends
)

// amqpReader reads a queue of its own, or a stream, neither of which takes anything from other consumers.
type amqpReader struct {
	v          *verification
	connection *amqp091.Connection
	channel    *amqp091.Channel
	queue      string
	deliveries <-chan amqp091.Delivery
	count      int64 // of arrivals, their order
	isStream   bool
}

// openQueue binds a queue of this connection alone to the exchange. What is accepted from now on, is in it.
func openQueue(ctx context.Context, v *verification) (reader, error) {
	return openAMQP(ctx, v, func(r *amqpReader) error {
		const durable, autoDelete, exclusive, noWait = false, false, true, false
		q, err := r.channel.QueueDeclare("", durable, autoDelete, exclusive, noWait, nil)
		if err != nil {
			return fmt.Errorf("declare a queue: %w", err)
		}
		r.queue = q.Name
		for _, key := range v.bindings {
			if err := r.channel.QueueBind(q.Name, key, v.topic, noWait, nil); err != nil {
				return fmt.Errorf("bind a queue to exchange %q: %w", v.topic, err)
			}
		}
		return r.consume(ctx, nil)
	})
}

// openStream begins to read a stream where --since says.
func openStream(ctx context.Context, v *verification) (reader, error) {
	return openAMQP(ctx, v, func(r *amqpReader) error {
		r.queue, r.isStream = v.stream, true
		from := time.Now().Add(-v.since - v.slack)
		return r.consume(ctx, amqp091.Table{"x-stream-offset": from})
	})
}

func openAMQP(ctx context.Context, v *verification, start func(r *amqpReader) error) (reader, error) {
	connection, at, err := dialAMQP(ctx, v.place.amqp)
	if err != nil {
		return nil, err
	}
	r := &amqpReader{v: v, connection: connection}
	if r.channel, err = connection.Channel(); err == nil {
		err = start(r)
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("watch RabbitMQ at %s: %w", at, err)
	}
	return r, nil
}

// dialAMQP tries each address in turn.
func dialAMQP(ctx context.Context, a *relayconf.AMQP) (_ *amqp091.Connection, at string, err error) {
	urls, encryption, err := a.Addresses()
	if err != nil {
		return nil, "", usageError{err}
	}
	dial := func(network, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, addr)
	}
	var errs []error
	for _, url := range urls {
		uri, err := amqp091.ParseURI(url)
		if err != nil { // which would show the password
			return nil, "", usageError{errors.New("want a URL of the form amqp://user:password@host:port/vhost")}
		}
		at = net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port))
		connection, err := amqp091.DialConfig(url, amqp091.Config{Dial: dial, TLSClientConfig: encryption.Clone()})
		if err == nil {
			return connection, at, nil
		}
		errs = append(errs, fmt.Errorf("connect to RabbitMQ at %s: %w", at, err))
	}
	return nil, "", errors.Join(errs...)
}

func (r *amqpReader) consume(ctx context.Context, arguments amqp091.Table) error {
	if err := r.channel.Qos(amqpPrefetch, 0, false); err != nil {
		return err
	}
	const tag, autoAck, exclusive, noLocal, noWait = "postroom-verify", false, false, false, false
	var err error
	r.deliveries, err = r.channel.ConsumeWithContext(context.WithoutCancel(ctx), r.queue, tag, autoAck, exclusive,
		noLocal, noWait, arguments)
	if err != nil {
		return fmt.Errorf("consume from %q: %w", r.queue, err)
	}
	return nil
}

func (r *amqpReader) follow(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case delivery, open := <-r.deliveries:
			if !open {
				return r.cut()
			}
			if err := r.take(delivery); err != nil {
				return err
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// finish takes what is in the queue now. What a stream has now, was read when nothing comes for a while.
func (r *amqpReader) finish(ctx context.Context) error {
	if r.isStream {
		for before := int64(-1); before < r.count; {
			before = r.count
			if err := r.follow(ctx, streamQuiet); err != nil {
				return err
			}
		}
		return nil
	}
	if err := r.channel.Cancel("postroom-verify", false); err != nil {
		return fmt.Errorf("stop watching RabbitMQ: %w", err)
	}
	for delivery := range r.deliveries {
		if err := r.take(delivery); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		delivery, found, err := r.channel.Get(r.queue, false)
		if err != nil {
			return fmt.Errorf("empty the watching queue: %w", err)
		}
		if !found {
			return nil
		}
		if err := r.take(delivery); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// cut says why no more deliveries come.
func (r *amqpReader) cut() error {
	if r.connection.IsClosed() {
		return errors.New("watch RabbitMQ: the connection was lost, and with it what the queue held: start again")
	}
	return errors.New("watch RabbitMQ: the broker ended the watch: start again")
}

// take takes in a delivery. RabbitMQ wants to hear of it before it sends on.
func (r *amqpReader) take(d amqp091.Delivery) error {
	if err := d.Ack(false); err != nil {
		return r.cut()
	}
	a := arrival{
		stream: r.queue, offset: r.count, at: time.Now(), again: d.Redelivered,
		headers: func(name string) string { text, _ := d.Headers[name].(string); return text },
	}
	if offset, ok := d.Headers["x-stream-offset"].(int64); ok && r.isStream {
		a.offset = offset
	}
	r.count++
	return r.v.arrived(a)
}

func (r *amqpReader) close() { _ = r.connection.Close() }
