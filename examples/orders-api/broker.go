package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/postroom/postroom/outbox"
)

// broker is both ends of the shop's topic, as far as the process needs them.
type broker struct {
	name       string // for people: no credentials
	publisher  outbox.Publisher
	subscriber message.Subscriber
	closers    []func() error
}

// openBroker connects, and creates or declares what the topic needs.
func openBroker(ctx context.Context, c config) (*broker, error) {
	scheme, rest, _ := strings.Cut(c.brokerURL, "://")
	switch scheme {
	case "kafka":
		return openKafka(ctx, c, strings.Split(rest, ","))
	case "amqp", "amqps":
		return openRabbitMQ(c)
	case "":
		return openOwnKafka(ctx, c)
	}
	return nil, errors.New("BROKER_URL is of an unknown kind: use kafka://host:port or amqp://user:password@host:port")
}

// onClose adds what close calls; the last added is called first.
func (b *broker) onClose(end func() error) { b.closers = append([]func() error{end}, b.closers...) }

func (b *broker) close() error {
	var errs []error
	for _, end := range b.closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// watermillLogger passes Watermill's warnings and errors on; what it calls information is for debugging.
func watermillLogger() watermill.LoggerAdapter {
	quieter := map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug}
	return watermill.NewSlogLoggerWithLevelMapping(slog.Default(), quieter)
}
