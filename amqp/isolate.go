package amqp

import (
	"fmt"
	"strconv"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/outbox"
)

// isAboutMessage reports whether the broker closed a channel because of one message on it, not because of
// trouble of its own (320 connection forced, 541 internal error) or of the protocol (501, 504): those say
// nothing about messages.
func isAboutMessage(reason *amqp091.Error) bool {
	if reason == nil || !reason.Server {
		return false
	}
	switch reason.Code {
	case amqp091.AccessRefused, // 403: no permission to write to the exchange or topic
		amqp091.NotFound,           // 404: the exchange was deleted after it had been looked up
		amqp091.PreconditionFailed, // 406: larger than max_message_size, or a header that the broker reads itself
		amqp091.ContentTooLarge:    // 311: the same in the words of the specification
		return true
	}
	return false
}

// isolate finds the parcel among open over which the broker closed the channel. All of them go out again: the
// broker may hold those before the culprit and has not read those after it, and it does not say which is
// which. To cost the others one copy at most, the likely culprits go last and alone; without a hint the
// parcels are halved.
func (c *call) isolate(open []*parcel, reason *amqp091.Error) {
	if len(open) == 1 {
		c.refuse(open[0], reason)
		return
	}
	for _, p := range open {
		p.copied = true
	}
	for _, group := range c.split(open, reason) {
		c.send(group)
	}
}

// refuse settles p as refused, and remembers its route if the route was the reason.
func (c *call) refuse(p *parcel, reason *amqp091.Error) {
	var err error
	switch reason.Code {
	case amqp091.NotFound:
		err = outbox.Unroutable(fmt.Errorf("broker knows no exchange %q: %s", p.route.exchange, told(reason)))
		c.p.exchanges.forget(p.route.exchange)
		c.refused[route{exchange: p.route.exchange}] = err
	case amqp091.AccessRefused:
		err = outbox.RetryAfter(forbiddenPause,
			fmt.Errorf("broker refused the message: grant the user write permission: %s", told(reason)))
		under := refusedBy(p.route, reason)
		c.refused[under] = err
		c.p.forbidden.add(under, err)
	default:
		err = outbox.Permanent(fmt.Errorf("broker refused the message: %s", told(reason)))
	}
	c.fail(p, err)
}

// refusedBy is what a 403 over a message on r holds for: its whole exchange, or with topic permissions its
// routing key.
func refusedBy(r route, reason *amqp091.Error) route {
	if namesTopic(reason) {
		return r
	}
	return route{exchange: r.exchange}
}

func namesTopic(reason *amqp091.Error) bool { return strings.Contains(reason.Reason, "topic '") }

// split returns open as groups to be sent one after the other, each smaller than open.
func (c *call) split(open []*parcel, reason *amqp091.Error) [][]*parcel {
	suspected := suspicion(reason)
	after := map[orderKey]bool{} // keys with a suspect: what comes behind it must not overtake it
	var others []*parcel
	var alone [][]*parcel
	for _, p := range open {
		if suspected(p) || after[p.order] {
			alone = append(alone, []*parcel{p})
			after[p.order] = p.ordered()
		} else {
			others = append(others, p)
		}
	}
	if len(alone) == 0 {
		return [][]*parcel{open[:len(open)/2], open[len(open)/2:]}
	}
	return append([][]*parcel{others}, alone...)
}

// suspicion reads from the broker's text which parcels it may be about: RabbitMQ quotes the names of the
// exchange and of the topic, and ends a complaint about size with the limit. If a text reads differently,
// nobody is suspected.
func suspicion(reason *amqp091.Error) func(*parcel) bool {
	quoted := func(name string) bool { return strings.Contains(reason.Reason, "'"+name+"'") }
	switch reason.Code {
	case amqp091.NotFound, amqp091.AccessRefused:
		topic := namesTopic(reason)
		return func(p *parcel) bool {
			return quoted(p.route.exchange) && (!topic || quoted(p.route.key))
		}
	}
	words := strings.Fields(reason.Reason)
	limit := 0
	if len(words) > 0 {
		limit, _ = strconv.Atoi(words[len(words)-1])
	}
	return func(p *parcel) bool { return limit > 0 && len(p.publishing.Body) > limit }
}
