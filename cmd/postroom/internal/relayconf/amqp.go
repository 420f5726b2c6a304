package relayconf

import (
	"crypto/tls"
	"log/slog"

	"github.com/postroom/postroom/amqp"
	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// routes say what a topic is: an exchange, whose routing key is the type, or a queue.
var routes = map[string]func(m *outbox.Message) (exchange, routingKey string){
	"exchange": nil, // the publisher's own
	routeQueue: func(m *outbox.Message) (exchange, routingKey string) { return "", m.Topic },
}

const routeQueue = "queue"

var eventModes = map[string]cloudevents.Mode{
	"off": cloudevents.Off, "binary": cloudevents.Binary, "structured": cloudevents.Structured,
}

func (e CloudEvents) config() cloudevents.Config {
	return cloudevents.Config{Mode: eventModes[e.Mode], Source: e.Source, Prefix: e.Prefix}
}

func (a AMQP) open(log *slog.Logger) (*amqp.Publisher, error) {
	c := amqp.Config{
		Route: routes[a.Route], CloudEvents: a.CloudEvents.config(),
		TrustQueues: a.TrustQueues, Window: a.Window, ConfirmTimeout: a.ConfirmTimeout,
		WriteTimeout: a.WriteTimeout, DialTimeout: a.DialTimeout, Heartbeat: a.Heartbeat,
		Management: string(a.Management), Logger: log,
	}
	var err error
	if c.URLs, c.TLS, err = a.Addresses(); err != nil {
		return nil, err
	}
	return amqp.Open(c)
}

// Addresses are those of the brokers, with the password, and how connections are encrypted, if not as usual.
func (a AMQP) Addresses() (urls []string, encryption *tls.Config, err error) {
	for _, u := range a.URLs {
		urls = append(urls, u.withPassword(a.Password))
	}
	if a.TLS != (TLS{}) {
		encryption, err = a.TLS.config()
	}
	return urls, encryption, err
}
