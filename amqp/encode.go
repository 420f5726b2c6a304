package amqp

import (
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// maxShortString is what AMQP 0-9-1 can carry in a name or a property. The client library closes the whole
// connection when it meets a longer one, so none must reach it.
const maxShortString = 255

// route is where a message goes.
type route struct{ exchange, key string }

// orderKey is what order holds for: a topic and a key. The zero value belongs to messages without a key.
type orderKey struct{ topic, key string }

// parcel is one message on its way through one call.
type parcel struct {
	index       int // in the call
	order       orderKey
	route       route
	publishing  amqp091.Publishing
	headerFrame int // bytes of the frame that carries the properties

	confirm *amqp091.DeferredConfirmation
	handed  time.Time
	copied  bool // handed over before, on a channel that ended: a copy may be in the broker
}

// encoder makes parcels of the messages of a call.
type encoder struct {
	events  cloudevents.Config
	now     time.Time
	scratch []outbox.Header
}

// encode returns m as it goes out, or says why AMQP cannot carry it.
func (e *encoder) encode(index int, m *outbox.Message, to route) (*parcel, error) {
	p := &parcel{index: index, route: to}
	if m.Key != "" {
		p.order = orderKey{m.Topic, m.Key}
	}
	wire, err := e.events.Encode(m, cloudevents.AMQPPrefix, e.scratch)
	if err != nil {
		return p, err
	}
	e.scratch = wire.Headers
	headers := table(wire.Headers)
	correlation, _ := headers[outbox.HeaderCorrelationID].(string)
	p.publishing = amqp091.Publishing{
		MessageId:     m.ID.String(),
		Type:          m.Type,
		Timestamp:     e.now,
		ContentType:   wire.ContentType,
		CorrelationId: correlation,
		DeliveryMode:  amqp091.Persistent,
		Headers:       headers,
		Body:          wire.Body,
	}
	p.headerFrame = headerFrameSize(&p.publishing)
	return p, p.check()
}

// table returns headers as AMQP strings, the only type that every consumer reads; of duplicates the last stays.
func table(wire []outbox.Header) amqp091.Table {
	t := make(amqp091.Table, len(wire))
	for _, h := range wire {
		t[h.Name] = h.Value
	}
	return t
}

// check refuses what would close the connection or the channel.
func (p *parcel) check() error {
	for _, f := range []struct{ name, value string }{
		{"exchange", p.route.exchange},
		{"routing key", p.route.key},
		{"type", p.publishing.Type},
		{"content type", p.publishing.ContentType},
		{"correlation id", p.publishing.CorrelationId},
	} {
		if err := checkShort(f.name, f.value); err != nil {
			return err
		}
	}
	for name := range p.publishing.Headers {
		if err := checkShort("header name", name); err != nil {
			return err
		}
		// RabbitMQ's sender-selected distribution routes copies to what these two list, past the topic. It wants
		// lists, and closes the channel over a string.
		if name == "CC" || name == "BCC" {
			return fmt.Errorf("encode message: header %s is RabbitMQ's own and cannot be a string", name)
		}
	}
	return nil
}

func checkShort(name, value string) error {
	if len(value) > maxShortString {
		return fmt.Errorf("encode message: %s has %d bytes, AMQP takes %d", name, len(value), maxShortString)
	}
	return nil
}

// checkFrame refuses properties that do not fit into one frame of the connection; only bodies may be split.
func (p *parcel) checkFrame(limit int) error {
	if limit > 0 && p.headerFrame > limit {
		return fmt.Errorf("encode message: headers need a frame of %d bytes, the broker takes %d", p.headerFrame, limit)
	}
	return nil
}

// headerFrameSize counts the content header frame: frame 8, class, weight, body size and flags 14, then the
// properties, each short string with one byte of length and each header with its two lengths and its type.
func headerFrameSize(p *amqp091.Publishing) int {
	const frame, fixed, deliveryMode, timestamp, tableLength = 8, 14, 1, 8, 4
	n := frame + fixed + deliveryMode + timestamp + tableLength
	for _, s := range []string{p.ContentType, p.CorrelationId, p.MessageId, p.Type} {
		n += 1 + len(s)
	}
	for name, value := range p.Headers {
		s, _ := value.(string)
		n += 1 + len(name) + 1 + 4 + len(s)
	}
	return n
}
