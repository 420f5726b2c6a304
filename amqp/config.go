package amqp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// Config tells how to reach the broker and how long to wait for it. URLs is required.
type Config struct {
	// URLs are the broker's addresses, amqp://user:password@host:port/vhost or amqps://…, as RabbitMQ's URI
	// specification writes them. Each is tried in turn, beginning with the one that worked last.
	URLs []string
	// TLS is used with amqps URLs, and for Management where that is https. Defaults to the host name of the URL and
	// the system's roots.
	TLS *tls.Config
	// Route returns the exchange and the routing key of a message; exchange "" is the broker's default
	// exchange, whose routing key is the name of a queue. It must return the same for the same message.
	// Defaults to Topic and Type.
	Route func(m *outbox.Message) (exchange, routingKey string)
	// CloudEvents makes CloudEvents of messages. Defaults to none.
	CloudEvents cloudevents.Config
	// TrustQueues makes KeyOrdered true, so that the relay hands over whole claims: much faster when few keys
	// have most of the messages. Set it only if no queue that the messages reach rejects publishes (overflow
	// reject-publish, and a quorum queue while it elects a leader), and if bindings are not changed while messages flow
	// and do not look at headers. Otherwise a message may be refused while a later one of its key is taken. Defaults to
	// false.
	TrustQueues bool
	// Window bounds the messages of a call that wait for the broker's word at the same time. Defaults to 500.
	Window int
	// ConfirmTimeout bounds the wait for the broker's word on a message. It should exceed twice the
	// heartbeat. A message without one is Unknown, and its connection is given up. Defaults to 30 s.
	ConfirmTimeout time.Duration
	// WriteTimeout bounds one write to the socket, which a broker under an alarm stops reading. Defaults to
	// 10 s.
	WriteTimeout time.Duration
	// DialTimeout bounds the way to a usable channel (TCP, TLS, login, channel, confirm mode), for each URL,
	// and the lookup of an exchange. Defaults to 5 s.
	DialTimeout time.Duration
	// Heartbeat is the interval in which the broker and we prove to be alive; a URL's own heartbeat parameter
	// wins. Whole seconds. Defaults to 10 s.
	Heartbeat time.Duration
	// Management is the address of RabbitMQ's management API, http://user:password@host:15672, which [Publisher.Check]
	// asks for what AMQP does not show. Defaults to none.
	Management string
	// Logger defaults to slog.Default.
	Logger *slog.Logger
}

const (
	defaultWindow         = 500
	defaultConfirmTimeout = 30 * time.Second
	defaultWriteTimeout   = 10 * time.Second
	defaultDialTimeout    = 5 * time.Second
	defaultHeartbeat      = 10 * time.Second
)

// byTopicAndType is the default of Config.Route.
func byTopicAndType(m *outbox.Message) (exchange, routingKey string) { return m.Topic, m.Type }

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	if c.Route == nil {
		c.Route = byTopicAndType
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Window = defaultTo(c.Window, defaultWindow)
	c.ConfirmTimeout = defaultTo(c.ConfirmTimeout, defaultConfirmTimeout)
	c.WriteTimeout = defaultTo(c.WriteTimeout, defaultWriteTimeout)
	c.DialTimeout = defaultTo(c.DialTimeout, defaultDialTimeout)
	c.Heartbeat = defaultTo(c.Heartbeat, defaultHeartbeat)
	return c
}

func defaultTo[T int | time.Duration](v, instead T) T {
	if v == 0 {
		return instead
	}
	return v
}

// check refuses what could only fail later. No error repeats a URL, because URLs carry passwords.
func (c Config) check() error {
	if len(c.URLs) == 0 {
		const hint = "name at least one amqp:// or amqps:// URL"
		return &outbox.FieldError{Field: "URLs", Code: outbox.CodeMissing, Hint: hint}
	}
	for i, url := range c.URLs {
		if err := c.checkURL(url); err != nil {
			return fmt.Errorf("amqp: URLs[%d]: %w", i, err)
		}
	}
	if err := c.CloudEvents.Check(); err != nil {
		return err
	}
	if c.Window < 1 || c.Window > maxWindow {
		nearest := min(max(c.Window, 1), maxWindow)
		return &outbox.FieldError{Field: "Window", Code: outbox.CodeOutOfRange, Limit: nearest, Got: c.Window}
	}
	return c.checkDurations()
}

// maxWindow keeps what one connection buffers for returned messages within reason.
const maxWindow = 10_000

func (c Config) checkURL(url string) error {
	if _, err := amqp091.ParseURI(url); err != nil {
		return errors.New("not a URL of the form amqp://user:password@host:port/vhost")
	}
	if c.TLS != nil && !strings.HasPrefix(url, "amqps:") {
		return errors.New("TLS is set but the URL is not amqps, so it would be sent in the clear")
	}
	return nil
}

func (c Config) checkDurations() error {
	for _, f := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"ConfirmTimeout", c.ConfirmTimeout, 0},
		{"WriteTimeout", c.WriteTimeout, 0},
		{"DialTimeout", c.DialTimeout, 0},
		{"Heartbeat", c.Heartbeat, time.Second},
	} {
		if f.value < f.least {
			return fmt.Errorf("amqp: %s is %v, the least is %v", f.name, f.value, f.least)
		}
	}
	return nil
}
