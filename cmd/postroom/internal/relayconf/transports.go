package relayconf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/postroom/postroom/outbox"
)

// Broker is a transport that has been opened. It connects when it is first used.
type Broker struct {
	Name    string
	Default bool // serves messages that name no transport
	Topics  []string
	Kafka   bool
	// Queues reports that its topics are names of queues, which cannot be looked up.
	Queues    bool
	Publisher Publisher
}

// Check looks topics up, see the packages of the publishers.
func (b Broker) Check(ctx context.Context, topics []string) (warnings []string, err error) {
	if b.Queues {
		topics = nil
	}
	return b.Publisher.Check(ctx, topics...)
}

// Publisher is what both brokers offer.
type Publisher interface {
	outbox.Publisher
	outbox.KeyOrderer
	Check(ctx context.Context, topics ...string) (warnings []string, err error)
	Close() error
}

// OpenTransports opens every transport, in the order of their names. Its errors are about the configuration.
func (c Config) OpenTransports(log *slog.Logger) (_ []Broker, err error) {
	var brokers []Broker
	defer func() {
		if err != nil {
			err = errors.Join(err, CloseAll(brokers))
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(c.Transports)) {
		t := c.Transports[name]
		b := Broker{Name: name, Default: name == c.DefaultTransport, Topics: t.Topics, Kafka: t.Kafka != nil}
		if b.Publisher, err = t.open(log); err != nil {
			return brokers, fmt.Errorf("transports.%s: %w", name, err)
		}
		b.Queues = t.AMQP != nil && t.AMQP.Route == routeQueue
		brokers = append(brokers, b)
	}
	return brokers, nil
}

func (t *Transport) open(log *slog.Logger) (Publisher, error) {
	if t.Kafka != nil {
		return t.Kafka.open(log)
	}
	return t.AMQP.open(log)
}

// System is the broker's kind in the words of OpenTelemetry's conventions.
func (b Broker) System() string {
	if b.Kafka {
		return "kafka"
	}
	return "rabbitmq"
}

// CloseAll closes what OpenTransports has opened.
func CloseAll(brokers []Broker) error {
	var errs []error
	for _, b := range brokers {
		if err := b.Publisher.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close transport %s: %w", b.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Mux routes to brokers, through what wrap makes of each publisher.
func Mux(brokers []Broker, wrap func(Broker) (outbox.Publisher, error)) (outbox.Mux, error) {
	mux := make(outbox.Mux, len(brokers)+1)
	for _, b := range brokers {
		p, err := wrap(b)
		if err != nil {
			return nil, err
		}
		mux[b.Name] = p
		if b.Default {
			mux[""] = p
		}
	}
	return mux, nil
}
