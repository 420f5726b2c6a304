package servers

import (
	"context"
	"errors"
	"fmt"

	"github.com/postroom/postroom/bench/internal/load"
)

// Kind is a broker's, or None.
type Kind string

// The brokers that a subject may publish to.
const (
	None     Kind = ""
	Kafka    Kind = "kafka"
	RabbitMQ Kind = "rabbitmq"
)

// Destination is a topic, or an exchange with a queue, that one measurement has to itself.
type Destination interface {
	// Name is the topic's or the exchange's.
	Name() string
	// Follow calls see for each body as it arrives, until stop is called. Nothing is left for Count then.
	Follow(ctx context.Context, see func(body []byte)) (stop func() error, err error)
	// Count reads everything that arrived into c.
	Count(ctx context.Context, c *load.Checker) error
	// Delete removes the destination and what is left in it.
	Delete() error
}

// NewDestination makes a destination on the broker of kind; None has one without a name, where nothing arrives.
func (a Addresses) NewDestination(ctx context.Context, kind Kind) (Destination, error) {
	switch kind {
	case None:
		return nowhere{}, nil
	case Kafka:
		return newTopic(ctx, a.Kafka)
	case RabbitMQ:
		return newExchange(ctx, a.AMQP)
	}
	return nil, fmt.Errorf("make a destination: unknown broker %q", kind)
}

// errNowhere: there is no broker.
var errNowhere = errors.New("nothing arrives without a broker")

type nowhere struct{}

func (nowhere) Name() string { return "" }

func (nowhere) Follow(context.Context, func([]byte)) (func() error, error) { return nil, errNowhere }

func (nowhere) Count(context.Context, *load.Checker) error { return nil }

func (nowhere) Delete() error { return nil }
